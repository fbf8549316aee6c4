import type { RowColumn, RowSection } from '../../core/catalog.ts'
import { conversionOf } from '../../core/rules/quantity.ts'
import { formatList } from '../../lib/format-list.ts'
import { isProfile } from '../profiles/profile-run.ts'
import { computeOffsets } from '../report/align.ts'
import type { ChosenRun } from '../report/assess.ts'
import { plotTitle } from '../report/column-titles.ts'
import type { CollectedRun } from '../report/gather.ts'
import { ordered } from '../report/groups.ts'
import type { Titled } from '../report/plots.ts'
import type { Track } from '../report/track.ts'

/** The values of one process, device or other thing over time. */
export interface TimedTrack {
  readonly metric: string
  /** The section of the metric; empty if the metric has only one. */
  readonly section: string
  readonly track: Track
  /** The seconds from the start of the run to the first timepoint of the log. */
  readonly offset: number
  /** The measures, in the order of the values of the track. */
  readonly measures: readonly TimedMeasure[]
}

/** A measure, and the time that its values are about. */
export interface TimedMeasure extends Titled {
  /**
   * The moment of the sample; the interval of the sample, for a mean; or, for the growth of a
   * counter, the time since the sample before.
   */
  readonly covers: 'moment' | 'interval' | 'since-previous'
}

/** Returns the tracks of a run, sorted by pod, program and process id. */
export function listTimedTracks({ run, podOf }: ChosenRun): readonly TimedTrack[] {
  const starts = new Map([...run.sources].map(([log, { start }]) => [log, start]))
  const offsets = computeOffsets(starts)
  const found = new Map(
    [...usualTracks(run), ...sectionTracks(run)].map((one) => [one.track, one] as const),
  )
  return ordered([...found.keys()], podOf).flatMap((track) => {
    const one = found.get(track)
    return one === undefined ? [] : { ...one, offset: offsets.get(track.source) ?? 0 }
  })
}

type FoundTrack = Omit<TimedTrack, 'offset'>

function usualTracks(run: CollectedRun): readonly FoundTrack[] {
  const kinds = [
    ['process', run.processes, run.measures.process],
    ['device', run.devices, run.measures.device],
  ] as const
  return kinds.flatMap(([kind, tracks, measures]) =>
    [...tracks.values()].map((track) => {
      const metric = run.sources.get(track.source)?.place.metric ?? ''
      const sections = run.descriptions.get(metric)?.sections ?? []
      const columns = sections.flatMap((section) => (section.of === kind ? section.columns : []))
      const timed = measures.map((measure) => {
        return {
          ...measure,
          covers: coveredBy(columns.find(({ name }) => name === measure.column)),
        }
      })
      return { metric, section: '', track, measures: timed }
    }),
  )
}

function coveredBy(column: RowColumn | undefined): TimedMeasure['covers'] {
  if (column === undefined) return 'moment'
  if (column.behavior === 'counter') return 'since-previous'
  return conversionOf(column)?.isRate === true ? 'interval' : 'moment'
}

function sectionTracks({ sections, descriptions }: CollectedRun): readonly FoundTrack[] {
  return [...sections.values()].flatMap(({ metric, section, measures, tracks }) => {
    const all = descriptions.get(metric)?.sections ?? [section]
    if (all.some(isProfile)) return []
    const timed = measures.map((one) => ({ ...plotTitle(one), covers: coveredBy(one) }))
    const name = all.length > 1 ? section.name : ''
    return [...tracks.values()].map((track) => ({ metric, section: name, track, measures: timed }))
  })
}

/** Returns a sentence that names the metrics whose rows are values over time. */
export function missingTracks({ run: { descriptions } }: ChosenRun): string {
  const isTimed = (sections: readonly RowSection[]) => !sections.some(isProfile)
  const metrics = [...descriptions].flatMap(([metric, { sections }]) =>
    isTimed(sections) ? metric : [],
  )
  const needed = metrics.length === 0 ? 'a metric that takes samples' : formatList(metrics, 'or')
  return `no values over time were collected; observe the run with ${needed}`
}

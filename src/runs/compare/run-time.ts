import { thingOf } from '../../core/rules/quantity.ts'
import { computeOffsets } from '../report/align.ts'
import type { CollectedRun } from '../report/gather.ts'
import type { LogFacts } from '../report/programs/log-facts.ts'
import type { Track } from '../report/track.ts'
import { knownQuantity, type QuantityFacts, TIME } from './run-facts.ts'

const NAME = { quantity: TIME, of: 'run', title: 'time', unit: 's' } as const

/**
 * Returns the time of a run, from the first to the last row about a process. A run of which no
 * process was observed is measured by its other rows. If several metrics were collected, the one
 * with the shortest interval between its rows measures the time.
 *
 * The last process ended after its last row, and before the next one would have been taken, so the
 * resolution is the last interval.
 */
export function measureTime(run: CollectedRun, logs: ReadonlyMap<string, LogFacts>): QuantityFacts {
  const starts = new Map([...run.sources].map(([log, { start }]) => [log, start]))
  const offsets = computeOffsets(starts)
  // An observer with the option `completions` stops before the processes end.
  const isTimed = ({ source }: Track) => logs.get(source)?.isEarly !== true
  const metricOf = ({ source }: Track) => logs.get(source)?.metric ?? ''
  const spans = [processTracks(run), otherTracks(run)].map((tracks) =>
    [...Map.groupBy(tracks.filter(isTimed), metricOf)].flatMap(([metric, own]) =>
      spanOf(own, offsets, metric),
    ),
  )
  const found = spans.find((list) => list.length > 0) ?? []
  const [best] = [...found].sort((a, b) => a.resolution - b.resolution)
  const missing = 'no log that lasts until the end has two samples with a time'
  if (best === undefined)
    return { ...NAME, value: null, missing, resolution: 0, metrics: [], byPart: {} }
  const { seconds, resolution, metric } = best
  return { ...knownQuantity({ ...NAME, metrics: [metric] }, seconds), resolution }
}

function processTracks({ processes, sections }: CollectedRun): readonly Track[] {
  const own = [...sections.values()].filter(({ section }) => thingOf(section) === 'process')
  return [...processes.values(), ...own.flatMap(({ tracks }) => [...tracks.values()])]
}

function otherTracks({ devices, sections }: CollectedRun): readonly Track[] {
  return [
    ...devices.values(),
    ...[...sections.values()].flatMap(({ tracks }) => [...tracks.values()]),
  ]
}

/** Returns the time between the first and the last row of a metric, and the last interval. */
function spanOf(tracks: readonly Track[], offsets: ReadonlyMap<string, number>, metric: string) {
  let [first, last, resolution] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN]
  for (const { source, seconds } of tracks) {
    const offset = offsets.get(source) ?? 0
    const [begin = 0, end = 0, before] = [seconds[0], seconds.at(-1), seconds.at(-2)]
    first = Math.min(first, offset + begin)
    if (offset + end < last || before === undefined) continue
    last = offset + end
    resolution = end - before
  }
  const seconds = last - first
  return seconds > 0 && resolution > 0 ? [{ seconds, resolution, metric }] : []
}

import { thingOf } from '../../../core/rules/quantity.ts'
import type { CollectedRun } from '../gather.ts'
import type { Track } from '../track.ts'
import type { LogFacts } from './log-facts.ts'

/** The time of a run, which the verdict, the report and comparisons have. */
export interface RunTime {
  readonly seconds: number
  /** By how much the real time can be longer: the last process ended before its next row. */
  readonly resolution: number
  /** The metric that measured the end of the run with this resolution. */
  readonly metric: string
}

/**
 * Returns the time of a run, from the first to the last row about a process of any metric, or if
 * that is longer, the time of its MPI job, which is exact. Without an MPI job it is the time of its
 * container, if a summary has it. A run of which no process was observed is measured by its other
 * rows. Null if no log that lasts until the end has two rows with a time.
 *
 * A metric with rare rows may have the last row, because it also writes one when a process ends.
 * The resolution is that of the metric with the shortest interval whose rows last until then.
 *
 * @param offsets the seconds from the start of the run to the first timepoint of each log
 * @param job the time of the MPI job since MPI_Init; null if there is none
 */
export function measureTime(
  run: CollectedRun,
  logs: ReadonlyMap<string, LogFacts>,
  offsets: ReadonlyMap<string, number>,
  job: Pick<RunTime, 'seconds' | 'metric'> | null,
): RunTime | null {
  // An observer with the option `completions` stops before the processes end.
  const isTimed = ({ source }: Track) => logs.get(source)?.isEarly !== true
  const metricOf = ({ source }: Track) => logs.get(source)?.metric ?? ''
  for (const tracks of [processTracks(run), otherTracks(run)]) {
    const byMetric = Map.groupBy(tracks.filter(isTimed), metricOf)
    const spans = [...byMetric].flatMap(([metric, own]) => spanOf(own, offsets, metric) ?? [])
    const time = joinSpans(spans)
    if (time === null) continue
    if (job !== null && job.seconds > time.seconds) return { ...job, resolution: 0 }
    return containerTime(run, logs, time) ?? time
  }
  return null
}

/** The intervals by which the rows of a container that was seen from start to end are too short. */
const MISSED_INTERVALS = 2

/**
 * Returns the time from the start to the end of the container that ran the longest, if rows before
 * and after it would have been less than an interval away. The time of a container that started
 * long before its observer is not that of the recorded run.
 */
function containerTime(
  { evidence: { uses } }: CollectedRun,
  logs: ReadonlyMap<string, LogFacts>,
  rows: RunTime,
): RunTime | null {
  const most = rows.seconds + MISSED_INTERVALS * rows.resolution
  const times = [...uses].flatMap(([source, containers]) => {
    const { metric, isEarly } = logs.get(source) ?? {}
    if (metric === undefined || isEarly === true) return []
    return [...containers.values()].flatMap(({ seconds, isFinal }) => {
      const isSeen = isFinal && seconds !== null && seconds > rows.seconds && seconds <= most
      return isSeen ? { seconds, resolution: 0, metric } : []
    })
  })
  const [longest = null] = times.sort((a, b) => b.seconds - a.seconds)
  return longest
}

/** The intervals before the last row of all metrics in which a metric that lasts has a row. */
const MAX_INTERVALS = 2

function joinSpans(spans: readonly Span[]): RunTime | null {
  const first = Math.min(...spans.map((span) => span.first))
  const last = Math.max(...spans.map((span) => span.last))
  const [finest] = spans
    .filter((span) => last - span.last <= MAX_INTERVALS * span.resolution)
    .sort((a, b) => a.resolution - b.resolution)
  if (finest === undefined) return null
  return { seconds: last - first, resolution: finest.resolution, metric: finest.metric }
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

/** The first and the last row of a metric, and the interval before the last one, in seconds. */
interface Span {
  readonly first: number
  readonly last: number
  readonly resolution: number
  readonly metric: string
}

/** Returns the span of the tracks of a metric; null if none has two rows. */
function spanOf(
  tracks: readonly Track[],
  offsets: ReadonlyMap<string, number>,
  metric: string,
): Span | null {
  let [first, last, resolution] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0]
  for (const { source, seconds } of tracks) {
    const offset = offsets.get(source) ?? 0
    const [begin = 0, end = 0, before] = [seconds[0], seconds.at(-1), seconds.at(-2)]
    first = Math.min(first, offset + begin)
    if (offset + end < last || before === undefined) continue
    last = offset + end
    resolution = end - before
  }
  return last > first && resolution > 0 ? { first, last, resolution, metric } : null
}

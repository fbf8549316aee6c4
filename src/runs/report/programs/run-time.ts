import { thingOf } from '../../../core/rules/quantity.ts'
import type { CollectedRun } from '../gather.ts'
import type { Track } from '../track.ts'
import type { LogFacts } from './log-facts.ts'

/** The time of a run, which the verdict, the report and comparisons have. */
export interface RunTime {
  readonly seconds: number
  /** By how much the real time can be longer: the last process ended before its next row. */
  readonly resolution: number
  /** The metric whose row was the last one. */
  readonly metric: string
}

/**
 * Returns the time of a run, from the first to the last row about a process, or if that is longer,
 * the time of its MPI job, which is exact. A run of which no process was observed is measured by
 * its other rows. Null if no log that lasts until the end has two rows with a time.
 *
 * @param offsets the seconds from the start of the run to the first timepoint of each log
 * @param mpiSeconds the time of the MPI job since MPI_Init; 0 if there is none
 */
export function measureTime(
  run: CollectedRun,
  logs: ReadonlyMap<string, LogFacts>,
  offsets: ReadonlyMap<string, number>,
  mpiSeconds: number,
): RunTime | null {
  // An observer with the option `completions` stops before the processes end.
  const isTimed = ({ source }: Track) => logs.get(source)?.isEarly !== true
  for (const tracks of [processTracks(run), otherTracks(run)]) {
    const span = spanOf(tracks.filter(isTimed), offsets)
    if (span === null) continue
    const { resolution, source } = span
    const seconds = Math.max(span.seconds, mpiSeconds)
    return { seconds, resolution, metric: logs.get(source)?.metric ?? '' }
  }
  return null
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

/** Returns the time between the first and the last row, and the last interval; null without two. */
function spanOf(tracks: readonly Track[], offsets: ReadonlyMap<string, number>) {
  let [first, last, resolution] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0]
  let source = ''
  for (const track of tracks) {
    const { seconds } = track
    const offset = offsets.get(track.source) ?? 0
    const [begin = 0, end = 0, before] = [seconds[0], seconds.at(-1), seconds.at(-2)]
    first = Math.min(first, offset + begin)
    if (offset + end < last || before === undefined) continue
    last = offset + end
    resolution = end - before
    source = track.source
  }
  const seconds = last - first
  return seconds > 0 && resolution > 0 ? { seconds, resolution, source } : null
}

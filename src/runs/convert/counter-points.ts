import type { Track } from '../report/track.ts'
import type { TimedMeasure, TimedTrack } from './timed-tracks.ts'

/** A value of a counter, which is drawn until the next one. */
export interface CounterPoint {
  /** Seconds since the first timepoint of the log. */
  readonly at: number
  readonly value: number
}

/** When the last rows of logs and processes were read, in seconds since their first timepoint. */
export interface Ends {
  readonly logs: ReadonlyMap<string, number>
  readonly processes: ReadonlyMap<string, number>
}

/** Returns the ends of the logs and processes of tracks. */
export function findEnds(tracks: readonly TimedTrack[]): Ends {
  const [logs, processes] = [new Map<string, number>(), new Map<string, number>()]
  for (const { track } of tracks) {
    const end = lastSecond(track)
    logs.set(track.source, Math.max(logs.get(track.source) ?? 0, end))
    processes.set(keyOf(track), Math.max(processes.get(keyOf(track)) ?? 0, end))
  }
  return { logs, processes }
}

/**
 * Returns the values of a measure of a track. A mean over an interval is placed at the beginning of
 * its interval, because a viewer draws a value from its time on. The last value is followed by 0 if
 * other rows of the log come later: for a mean, after its last interval, and for a state, after
 * the end of the process. A value that could not be read has no point. Returns no points if no
 * value differs from 0.
 */
export function counterPoints(
  { track }: TimedTrack,
  { covers }: TimedMeasure,
  values: readonly (number | null)[],
  ends: Ends,
): readonly CounterPoint[] {
  if (values.every((value) => value === null || value === 0)) return []
  const points = values.flatMap((value, index) => {
    return value === null ? [] : [{ at: beginOf(track, covers, index), value }]
  })
  const end = covers === 'moment' ? endOfProcess(track, ends) : lastSecond(track)
  const isOver = end !== undefined && end < (ends.logs.get(track.source) ?? 0)
  return isOver ? [...points, { at: end, value: 0 }] : points
}

function beginOf(
  { seconds, intervals }: Track,
  covers: TimedMeasure['covers'],
  index: number,
): number {
  const at = seconds[index] ?? 0
  switch (covers) {
    case 'moment':
      return at
    case 'interval':
      return at - (intervals[index] ?? 0)
    case 'since-previous':
      return seconds[index - 1] ?? at
  }
}

function endOfProcess(track: Track, { processes }: Ends): number | undefined {
  return track.pid === null ? undefined : processes.get(keyOf(track))
}

function keyOf({ source, pid }: Track): string {
  return JSON.stringify([source, pid])
}

function lastSecond({ seconds }: Track): number {
  return seconds.at(-1) ?? 0
}

import { keepOutliers, marksIn, median, plainMean } from '../../lib/statistics.ts'
import { chooseGrid, type Grid, type GridValue, onGrid } from './grid.ts'
import type { Track } from './track.ts'

/** A line of a plot: one process, device or other thing, or several with one name together. */
export interface Line {
  readonly pod: string
  readonly program: string
  readonly pid: number | null
  /** The values of each measure on the grid; empty if the measure was never read. */
  readonly values: readonly (readonly GridValue[])[]
  /**
   * For each measure, whether the mean of the line is an outlier among the lines of the same
   * program.
   */
  readonly marks: readonly boolean[]
}

/** A measure of a plot, or a column of a table. */
export interface Titled {
  readonly key: string
  readonly title: string
  readonly unit: string
  readonly meaning?: string
}

export interface Plots {
  readonly grid: Grid
  readonly measures: readonly Titled[]
  readonly lines: readonly Line[]
  /** The number of lines that are left out. */
  readonly omitted: number
}

/** The properties of a run that all its plots share. */
export interface PlotContext {
  readonly offsets: ReadonlyMap<string, number>
  readonly podOf: (source: string) => string
  readonly duration: number
}

/** The maximum of the number of lines multiplied by the number of measures. */
const MAX_SERIES = 100_000

/** The numbers of tracks, and of samples of each, from which the usual interval is computed. */
const MAX_TRACKS_OF_INTERVAL = 200
const MAX_SAMPLES_OF_INTERVAL = 50

/** The interval if no track has two samples, in seconds. */
const DEFAULT_INTERVAL_S = 10

/**
 * Places the values of the tracks on one grid, and marks the outliers. If there are too many
 * tracks, those with an outlier and then the first ones are kept.
 *
 * @param floors for each measure, the distance from the median that an outlier exceeds
 */
export function buildPlots(
  tracks: readonly Track[],
  measures: readonly Titled[],
  { offsets, podOf, duration }: PlotContext,
  floors: readonly number[] = measures.map(() => 1),
): Plots {
  const sampled = tracks.slice(0, MAX_TRACKS_OF_INTERVAL)
  const interval = median(sampled.flatMap(listIntervals)) ?? DEFAULT_INTERVAL_S
  const meansOf = ({ values }: Track) => values.map(plainMean)
  const allMarks = marksIn(tracks, ({ program }) => program, meansOf, floors)
  const kept = keepOutliers(
    tracks.map((track, index) => ({ track, marks: allMarks[index] ?? [] })),
    Math.floor(MAX_SERIES / Math.max(measures.length, 1)),
  )
  const grid = chooseGrid(duration, interval, kept.length, measures.length)
  const lines = kept.map(({ track, marks }) => ({
    pod: podOf(track.source),
    program: track.program,
    pid: track.pid,
    values: track.values.map((values) => {
      const isKnown = values.some((value) => value !== null)
      return isKnown ? onGrid(track, values, grid, offsets.get(track.source) ?? 0) : []
    }),
    marks,
  }))
  return { grid, measures: measures.map(titleOf), lines, omitted: tracks.length - kept.length }
}

/** Returns the seconds between successive samples of a track, for its first samples. */
function listIntervals({ seconds }: Track): number[] {
  const first = seconds.slice(0, MAX_SAMPLES_OF_INTERVAL)
  const intervals = first.slice(1).map((at, index) => at - (first[index] ?? at))
  return intervals.filter((interval) => interval > 0)
}

/** Returns only the key, title, unit and meaning of a measure or a column. */
export function titleOf({ key, title, unit, meaning }: Titled): Titled {
  return meaning === undefined ? { key, title, unit } : { key, title, unit, meaning }
}

import { roundTo } from '../../lib/round.ts'
import type { Track } from './track.ts'

/** A time grid that all lines of a set of plots share. All buckets have the same width. */
export interface Grid {
  readonly buckets: number
  /** The width of a bucket in seconds. */
  readonly width: number
  /** Whether a bucket represents several samples of a line. */
  readonly isDownsampled: boolean
}

/**
 * The number of values that fit into the page. They take about six megabytes, which a browser opens
 * in a second.
 */
const BUDGET = 1_200_000
const MIN = 24
const MAX = 2000

/**
 * Chooses the grid: one bucket per sample, or fewer and wider buckets if the page would be too
 * large.
 *
 * @param duration seconds from the first to the last sample
 * @param interval the usual number of seconds between two samples of a line
 */
export function chooseGrid(
  duration: number,
  interval: number,
  lines: number,
  measures: number,
): Grid {
  const wanted = Math.max(Math.round(duration / Math.max(interval, 0.001)) + 1, 1)
  const room = Math.floor(BUDGET / Math.max(lines * measures * 2, 1))
  const buckets = Math.min(wanted, Math.max(Math.min(room, MAX), MIN))
  const isDownsampled = buckets < wanted
  const width = isDownsampled ? (duration * 1.000001) / buckets : Math.max(interval, 0.001)
  return { buckets, width, isDownsampled }
}

/**
 * The value of a bucket without a sample. The line is drawn across such a bucket, but a bucket with
 * the value null interrupts the line.
 */
export const NOTHING = ''

/** The significant digits of a value, more than a screen can show. */
const DIGITS = 4

/** The value of a bucket: a number, a gap, or no sample. */
export type GridValue = number | null | typeof NOTHING

/**
 * Places the values of a track on the grid: one value for each bucket. If the values of any bucket
 * differ, each bucket has two values, its minimum and maximum in chronological order. No peak is
 * lost.
 */
export function onGrid(
  track: Track,
  values: readonly (number | null)[],
  grid: Grid,
  offset: number,
): GridValue[] {
  const pairs: GridValue[] = new Array(grid.buckets * 2).fill(NOTHING)
  let last = -1
  for (const [index, at] of track.seconds.entries()) {
    const bucket = findBucket(offset + at, grid)
    if (wasAway(track, index) && bucket > last + 1) pairs[last * 2 + 2] = null
    put(pairs, bucket * 2, values[index] ?? null)
    last = bucket
  }
  const isSingle = pairs.every((value, index) => index % 2 === 0 || value === NOTHING)
  const kept = isSingle ? pairs.filter((_, index) => index % 2 === 0) : pairs
  return kept.map((value) => roundTo(value, DIGITS))
}

function findBucket(at: number, { buckets, width, isDownsampled }: Grid): number {
  const place = isDownsampled ? Math.floor(at / width) : Math.round(at / width)
  return Math.min(Math.max(place, 0), buckets - 1)
}

/** Reports whether samples are missing before this sample; the line then has a gap. */
function wasAway({ seconds, intervals }: Track, index: number): boolean {
  const silence = (seconds[index] ?? 0) - (seconds[index - 1] ?? seconds[index] ?? 0)
  return silence > (intervals[index] ?? Number.POSITIVE_INFINITY) * 1.5 + 1
}

/**
 * Adds a value to a bucket, which keeps the minimum and the maximum of its values in chronological
 * order.
 */
function put(pairs: GridValue[], at: number, value: number | null): void {
  const held = pairs.slice(at, at + 2).flatMap((one) => (one === NOTHING ? [] : (one ?? [])))
  const kept = value === null ? held : findExtremes([...held, value])
  pairs[at] = kept[0] ?? null
  pairs[at + 1] = kept[1] ?? NOTHING
}

/**
 * Returns the minimum and the maximum of the values, in chronological order. If they are equal,
 * returns one value.
 */
function findExtremes(values: readonly number[]): readonly number[] {
  const [least, most] = [Math.min(...values), Math.max(...values)]
  if (least === most) return [least]
  return values.indexOf(least) < values.lastIndexOf(most) ? [least, most] : [most, least]
}

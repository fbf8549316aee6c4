import type { Track } from './track.ts'

/** One grid of time for all lines of the page: buckets of equal width. */
export interface Grid {
  readonly buckets: number
  /** Seconds. */
  readonly width: number
  /** Whether a bucket stands for several samples of one line. */
  readonly isDownsampled: boolean
}

/** So many numbers the page may hold: some six megabytes, which a browser opens in a second. */
const BUDGET = 1_200_000
const FEWEST = 24
const MOST = 2000

/**
 * Chooses the grid: a bucket for each sample while that fits into the page, fewer and wider ones where not.
 *
 * @param duration - seconds from the first to the last sample
 * @param interval - seconds between two samples of a line, usually
 */
export function chooseGrid(
  duration: number,
  interval: number,
  lines: number,
  measures: number,
): Grid {
  const wanted = Math.max(Math.round(duration / Math.max(interval, 0.001)) + 1, 1)
  const room = Math.floor(BUDGET / Math.max(lines * measures * 2, 1))
  const buckets = Math.min(wanted, Math.max(Math.min(room, MOST), FEWEST))
  const isDownsampled = buckets < wanted
  const width = isDownsampled ? (duration * 1.000001) / buckets : Math.max(interval, 0.001)
  return { buckets, width, isDownsampled }
}

/** No sample in this bucket: the line goes on to the next. A null is a hole in the line. */
export const NOTHING = -1

/**
 * A measure of a track on the grid: a value for each bucket or, where a bucket has several, the least
 * and the most of them in the order in which they came, so that no peak is lost.
 */
export function onGrid(
  track: Track,
  values: readonly (number | null)[],
  grid: Grid,
  offset: number,
): (number | null)[] {
  const pairs: (number | null)[] = new Array(grid.buckets * 2).fill(NOTHING)
  let last = -1
  for (const [index, at] of track.seconds.entries()) {
    const bucket = findBucket(offset + at, grid)
    if (wasAway(track, index) && bucket > last + 1) pairs[last * 2 + 2] = null
    put(pairs, bucket * 2, values[index] ?? null)
    last = bucket
  }
  const isSingle = pairs.every((value, index) => index % 2 === 0 || value === NOTHING)
  const kept = isSingle ? pairs.filter((_, index) => index % 2 === 0) : pairs
  return kept.map(rounded)
}

function findBucket(at: number, { buckets, width, isDownsampled }: Grid): number {
  const place = isDownsampled ? Math.floor(at / width) : Math.round(at / width)
  return Math.min(Math.max(place, 0), buckets - 1)
}

/** A process that was away since its last sample has a hole, not a line over it. */
function wasAway({ seconds, intervals }: Track, index: number): boolean {
  const silence = (seconds[index] ?? 0) - (seconds[index - 1] ?? seconds[index] ?? 0)
  return silence > (intervals[index] ?? Number.POSITIVE_INFINITY) * 1.5 + 1
}

/** Puts a value among the least and the most of a bucket, which keep the order of their coming. */
function put(pairs: (number | null)[], at: number, value: number | null): void {
  const held = pairs.slice(at, at + 2).flatMap((one) => (one === NOTHING ? [] : (one ?? [])))
  const kept = value === null ? held : findExtremes([...held, value])
  pairs[at] = kept[0] ?? null
  pairs[at + 1] = kept[1] ?? NOTHING
}

/** At most two of the values, the least and the most, in the order that they are in. */
function findExtremes(values: readonly number[]): readonly number[] {
  const [least, most] = [Math.min(...values), Math.max(...values)]
  if (least === most) return [least]
  return values.indexOf(least) < values.lastIndexOf(most) ? [least, most] : [most, least]
}

/** Four digits are more than a screen shows. */
function rounded(value: number | null): number | null {
  return value === null ? null : Number(value.toPrecision(4))
}

import type { Track } from '../track.ts'

/** A rate that was the same from one time to another, in seconds since the start of the run. */
export interface RateStep {
  readonly from: number
  readonly to: number
  readonly rate: number
}

/** The time of a run in buckets of the same width. */
export interface Buckets {
  readonly count: number
  /** The width of a bucket in seconds. */
  readonly width: number
}

/** For each bucket, the sum of rate × time, and the seconds of the bucket that the steps cover. */
export interface Amounts {
  readonly sums: readonly number[]
  readonly covered: readonly number[]
}

/**
 * Returns the steps of a counter's growth per second: each value is about the time since the
 * previous sample.
 *
 * @param offset the start of the log, in seconds since the start of the run
 */
export function* counterSteps(
  { seconds, values }: Track,
  index: number,
  offset: number,
): Generator<RateStep> {
  for (const [sample, at] of seconds.entries()) {
    const before = seconds[sample - 1]
    const rate = values[index]?.[sample] ?? null
    if (before === undefined || rate === null || at <= before) continue
    yield { from: offset + before, to: offset + at, rate }
  }
}

/** Returns the steps of values that are about the interval before their sample. */
export function* intervalSteps(
  { seconds, intervals, values }: Track,
  index: number,
  offset: number,
): Generator<RateStep> {
  for (const [sample, at] of seconds.entries()) {
    const interval = intervals[sample] ?? null
    const rate = values[index]?.[sample] ?? null
    if (interval === null || interval <= 0 || rate === null) continue
    yield { from: offset + at - interval, to: offset + at, rate }
  }
}

/** Returns the sums of steps in each bucket. A step may be a part of several buckets. */
export function amountsOf(steps: Iterable<RateStep>, { count, width }: Buckets): Amounts {
  const [sums, covered] = [new Array<number>(count).fill(0), new Array<number>(count).fill(0)]
  for (const { from, to, rate } of steps) {
    const first = Math.max(Math.floor(from / width), 0)
    for (let bucket = first; bucket < count && bucket * width < to; bucket += 1) {
      const overlap = Math.min(to, (bucket + 1) * width) - Math.max(from, bucket * width)
      sums[bucket] = (sums[bucket] ?? 0) + overlap * rate
      covered[bucket] = (covered[bucket] ?? 0) + overlap
    }
  }
  return { sums, covered }
}

/**
 * Adds up the steps of several processes. A bucket is covered for as long as it is covered by the
 * process that covers most of it.
 */
export function addAmounts(all: readonly (() => Iterable<RateStep>)[], buckets: Buckets): Amounts {
  const [sums, covered] = [
    new Array<number>(buckets.count).fill(0),
    new Array<number>(buckets.count).fill(0),
  ]
  for (const read of all) {
    const own = amountsOf(read(), buckets)
    for (let at = 0; at < buckets.count; at += 1) {
      sums[at] = (sums[at] ?? 0) + (own.sums[at] ?? 0)
      covered[at] = Math.max(covered[at] ?? 0, own.covered[at] ?? 0)
    }
  }
  return { sums, covered }
}

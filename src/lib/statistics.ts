/** Returns the median; null if there are no values. */
export function median(values: readonly number[]): number | null {
  if (values.length === 0) return null
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  const [low, high] = [sorted[middle - 1] ?? 0, sorted[middle] ?? 0]
  return sorted.length % 2 === 1 ? high : (low + high) / 2
}

/**
 * Returns the median, and the standard deviation estimated from the median absolute deviation; null
 * if there are no values.
 */
export function spreadOf(values: readonly number[]) {
  const middle = median(values)
  if (middle === null) return null
  const deviation = 1.4826 * (median(values.map((value) => Math.abs(value - middle))) ?? 0)
  return { middle, deviation }
}

/** The minimum number of values for which outliers are marked. */
const CROWD = 4

/**
 * Reports which values are outliers. The distance of an outlier from the median is more than four
 * standard deviations (estimated from the median absolute deviation), more than a tenth of the
 * median, and more than `least`.
 */
export function standingOut(values: readonly (number | null)[], least: number): boolean[] {
  const known = values.filter((value) => value !== null)
  const spread = spreadOf(known)
  if (spread === null || known.length < CROWD) return values.map(() => false)
  const { middle, deviation } = spread
  const far = Math.max(4 * deviation, 0.1 * Math.abs(middle), least)
  return values.map((value) => value !== null && Math.abs(value - middle) > far)
}

/**
 * Returns the mean over time. Each value is weighted by its interval, or by 1 if the interval is
 * unknown. Returns null if no value is known.
 */
export function computeMean(
  values: readonly (number | null)[],
  intervals: readonly (number | null)[],
): number | null {
  let [sum, weights] = [0, 0]
  for (const [index, value] of values.entries()) {
    const weight = value === null ? 0 : (intervals[index] ?? 1)
    sum += (value ?? 0) * weight
    weights += weight
  }
  return weights === 0 ? null : sum / weights
}

/**
 * Returns the sum of rates multiplied by their intervals; null if a rate or an interval is unknown,
 * or if there are no rates.
 */
export function computeTotal(
  values: readonly (number | null)[],
  intervals: readonly (number | null)[],
): number | null {
  let total = 0
  for (const [index, value] of values.entries()) {
    const interval = intervals[index] ?? null
    if (value === null || interval === null) return null
    total += value * interval
  }
  return values.length === 0 ? null : total
}

/** Returns the sum of a number of each thing. */
export function sumBy<Thing>(things: readonly Thing[], read: (thing: Thing) => number): number {
  return things.reduce((sum, thing) => sum + read(thing), 0)
}

/** Returns the maximum of the known values; null if there are none. */
export function maximum(values: readonly (number | null)[]): number | null {
  let most: number | null = null
  for (const value of values) if (value !== null && (most === null || value > most)) most = value
  return most
}

/** Returns the minimum of the known values; null if there are none. */
export function minimum(values: readonly (number | null)[]): number | null {
  let least: number | null = null
  for (const value of values) if (value !== null && (least === null || value < least)) least = value
  return least
}

/**
 * Marks the values of each thing that are outliers among the things of the same group.
 *
 * @param least for each value, the distance from the median that an outlier exceeds; null if the
 * value is never an outlier
 */
export function marksIn<Thing>(
  things: readonly Thing[],
  groupOf: (thing: Thing) => string,
  valuesOf: (thing: Thing) => readonly (number | null)[],
  least: readonly (number | null)[],
): boolean[][] {
  const marks = things.map(() => least.map(() => false))
  const groups = Map.groupBy(things.keys(), (index) => groupOf(things[index] as Thing))
  const values = things.map(valuesOf)
  for (const group of groups.values()) {
    for (const [column, floor] of least.entries()) {
      const own = group.map((index) => values[index]?.[column] ?? null)
      const outs = standingOut(own, floor ?? Number.POSITIVE_INFINITY)
      for (const [at, index] of group.entries()) marks[index]?.splice(column, 1, outs[at] ?? false)
    }
  }
  return marks
}

/** Returns the mean of the known values; null if there are none. */
export function plainMean(values: readonly (number | null)[]): number | null {
  return computeMean(values, [])
}

/**
 * Returns at most `most` of the things, in their order: those with an outlier, and then the first
 * ones.
 */
export function keepOutliers<Thing extends { readonly marks: readonly boolean[] }>(
  things: readonly Thing[],
  most: number,
): readonly Thing[] {
  if (things.length <= most) return things
  const isMarked = ({ marks }: Thing) => marks.includes(true)
  const sorted = [...things.filter(isMarked), ...things.filter((thing) => !isMarked(thing))]
  const kept = new Set(sorted.slice(0, most))
  return things.filter((thing) => kept.has(thing))
}

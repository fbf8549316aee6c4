import { groupBy } from './group-by.ts'
/** The middle value; null of none. */
export function median(values: readonly number[]): number | null {
  if (values.length === 0) return null
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  const [low, high] = [sorted[middle - 1] ?? 0, sorted[middle] ?? 0]
  return sorted.length % 2 === 1 ? high : (low + high) / 2
}

/** Fewer than these have no crowd to stand out of. */
const CROWD = 4

/**
 * Which values stand out of a crowd: further from the median than four standard deviations as the median
 * absolute deviation estimates them, than a tenth of the median, and than what is too small to matter.
 */
export function standingOut(values: readonly (number | null)[], least: number): boolean[] {
  const known = values.filter((value) => value !== null)
  const middle = median(known)
  if (middle === null || known.length < CROWD) return values.map(() => false)
  const deviation = 1.4826 * (median(known.map((value) => Math.abs(value - middle))) ?? 0)
  const far = Math.max(4 * deviation, 0.1 * Math.abs(middle), least)
  return values.map((value) => value !== null && Math.abs(value - middle) > far)
}

/** The mean over time: each sample weighs what it covers, or the same where that is not known. */
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

/** What rates add up to over the intervals that they cover; null where a part is not known. */
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

/** The most of the values that are known, or null. */
export function maximum(values: readonly (number | null)[]): number | null {
  let most: number | null = null
  for (const value of values) if (value !== null && (most === null || value > most)) most = value
  return most
}

/**
 * For each thing, which of its values stand out among the things of the same group.
 *
 * @param least - for each value, how much never stands out; null where nothing does
 */
export function marksIn<Thing>(
  things: readonly Thing[],
  groupOf: (thing: Thing) => string,
  valuesOf: (thing: Thing) => readonly (number | null)[],
  least: readonly (number | null)[],
): boolean[][] {
  const marks = things.map(() => least.map(() => false))
  const groups = groupBy(things.keys(), (index) => groupOf(things[index] as Thing))
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

/** The mean of the values that are known, or null. */
export function plainMean(values: readonly (number | null)[]): number | null {
  return computeMean(values, [])
}

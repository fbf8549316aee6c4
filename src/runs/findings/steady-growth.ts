import { median } from '../../lib/statistics.ts'
import type { Point } from '../evidence/series.ts'

/** The thresholds of steady growth, each with its reason. They are Ridealong's own. */
const STEADY = {
  lastPart: {
    value: 0.5,
    reason: 'the part of the run that counts, its end: programs allocate most when they start',
  },
  fewestPoints: {
    value: 20,
    reason: 'with fewer samples in that part, its halves have too few to compare their slopes',
  },
  growthToNoise: {
    value: 10,
    reason:
      'the growth, compared with the standard deviation from the line: with less, the slopes of ' +
      'the halves differ by chance by more than the next threshold allows',
  },
  laterSlope: {
    value: 0.85,
    reason:
      'the slope of the second half, compared with the first: growth that approaches a value ' +
      'below the limit exponentially has less, unless the run is too short to show it',
  },
  belowLine: {
    value: 2,
    reason:
      'the distance of the last eight samples below the line, in standard deviations: by chance, ' +
      'their median is more than 2 below it less than once in 10,000 times',
  },
} as const

/** A line through points that grow steadily. */
export interface Growth {
  /** The growth per second. */
  readonly slope: number
  /** The value of the line at the last point. */
  readonly end: number
  /** The seconds from the first to the last point, also of the part that does not count. */
  readonly seconds: number
}

/** The points at the end that must not be below the line. */
const LAST_POINTS = 8

/**
 * Returns the line through the points of the last part of a run if they grow steadily; undefined if
 * they do not, or if there are too few. The slope is the median of the slopes between all pairs of
 * points (Theil-Sen), which a quarter of wrong points does not change much.
 */
export function findSteadyGrowth(points: readonly Point[]): Growth | undefined {
  const [first, last] = [points[0], points.at(-1)]
  if (first === undefined || last === undefined) return undefined
  const seconds = last.seconds - first.seconds
  const from = last.seconds - STEADY.lastPart.value * seconds
  const part = points.filter((point) => point.seconds >= from)
  if (part.length < STEADY.fewestPoints.value) return undefined
  const slope = slopeOf(part)
  if (slope <= 0 || !hasSteadySlope(part)) return undefined
  const start = median(part.map((point) => point.value - slope * point.seconds)) ?? 0
  const residuals = part.map((point) => point.value - slope * point.seconds - start)
  if (!isNearLine(residuals, slope * (last.seconds - from))) return undefined
  return { slope, end: start + slope * last.seconds, seconds }
}

/** Returns the median of the slopes between all pairs of points; 0 if there are none. */
function slopeOf(points: readonly Point[]): number {
  const slopes: number[] = []
  for (const [index, a] of points.entries())
    for (const b of points.slice(index + 1))
      if (b.seconds > a.seconds) slopes.push((b.value - a.value) / (b.seconds - a.seconds))
  return median(slopes) ?? 0
}

/** Reports whether the points of the second half grow about as fast as those of the first half. */
function hasSteadySlope(points: readonly Point[]): boolean {
  const half = points.length >> 1
  const before = slopeOf(points.slice(0, half))
  const after = slopeOf(points.slice(half))
  return before > 0 && after >= STEADY.laterSlope.value * before
}

/** The part of the growth that is always allowed as a distance from the line, for exact values. */
const ROUNDING = 0.001

function isNearLine(residuals: readonly number[], growth: number): boolean {
  // The standard deviation of a normal distribution is 1.4826 times the median distance.
  const noise = 1.4826 * (median(residuals.map(Math.abs)) ?? 0)
  const end = median(residuals.slice(-LAST_POINTS)) ?? 0
  const isAbove = end >= -STEADY.belowLine.value * noise - ROUNDING * growth
  return isAbove && growth >= STEADY.growthToNoise.value * noise
}

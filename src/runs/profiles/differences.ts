import { spreadOf } from '../../lib/statistics.ts'
import { OTHER, type ProfiledFunction } from './profile-run.ts'
import type { RankedFunction, RankedProfile } from './ranked-profile.ts'

/** A function in which ranks used more processor time than the others did. */
export interface FunctionDifference extends ProfiledFunction {
  /** The median of the self seconds of all compared ranks. */
  readonly median: number
  /** The number of compared ranks. */
  readonly compared: number
  /** The ranks that used more, the one with the most time first. */
  readonly ranks: readonly DifferingRank[]
}

export interface DifferingRank {
  readonly rank: string
  /** The processor time in the function itself, in seconds. */
  readonly self: number
  /** The seconds above the median. */
  readonly more: number
  /** The processor time of all functions of the rank, in seconds. */
  readonly whole: number
}

/** The fewest ranks that are compared: of two ranks, neither can be called the unusual one. */
const MIN_RANKS = 3
/** The least time above the median, as a part of the median. */
export const MIN_MORE = 0.25
/** The least time above the median, as a part of the processor time of the rank. */
const MIN_PART = 0.01
/** The standard deviations by which an outlier exceeds the median, as in the report. */
const DEVIATIONS = 4

/**
 * Finds the functions in which ranks used more processor time than the median of the ranks, the
 * greatest difference first. The additional self time of such a rank is
 *
 * - at least a quarter of the median (the POP Centre of Excellence calls a load balance below 80 %
 *   a problem),
 * - at least 1 % of the processor time of the rank,
 * - more than four standard deviations, estimated by the median absolute deviation,
 * - and more than four standard deviations of the samples, whose number is a random number with a
 *   Poisson distribution: the standard deviation is the square root of the number.
 *
 * A rank without a row about a function used 0 s in it. Ranks with an incomplete profile are not
 * compared, nor is the row with the sum of all other functions.
 */
export function findDifferences(profile: RankedProfile): readonly FunctionDifference[] {
  const { ranks, incomplete, functions } = profile
  const compared = [...ranks.keys()].filter((index) => incomplete[index]?.length === 0)
  if (compared.length < MIN_RANKS) return []
  const found = functions
    .filter(({ name }) => name !== OTHER)
    .flatMap((one) => differenceIn(one, compared, profile))
  return found.sort((a, b) => moreIn(b) - moreIn(a))
}

function moreIn({ ranks }: FunctionDifference): number {
  return ranks[0]?.more ?? 0
}

function differenceIn(
  { name, library, times }: RankedFunction,
  compared: readonly number[],
  { ranks, seconds }: RankedProfile,
): readonly FunctionDifference[] {
  const spread = spreadOf(compared.map((index) => times.get(index)?.self ?? 0))
  if (spread === null) return []
  const { middle, deviation } = spread
  const differing = compared.flatMap((index) => {
    const { self = 0, samples = 0 } = times.get(index) ?? {}
    const [rank, whole] = [ranks[index] ?? '', seconds[index] ?? 0]
    const more = self - middle
    const least = Math.max(MIN_MORE * middle, MIN_PART * whole)
    const far = DEVIATIONS * Math.max(deviation, samplingError(self, middle, samples))
    return more > 0 && more >= least && more > far ? [{ rank, self, more, whole }] : []
  })
  if (differing.length === 0) return []
  const sorted = differing.sort((a, b) => b.more - a.more)
  return [{ name, library, median: middle, compared: compared.length, ranks: sorted }]
}

/** Returns the standard deviation of the difference of two times that samples measured. */
function samplingError(self: number, middle: number, samples: number): number {
  if (samples === 0) return 0
  const period = self / samples
  return Math.sqrt(period * (self + middle))
}

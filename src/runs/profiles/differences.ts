import { spreadOf } from '../../lib/statistics.ts'
import type { FunctionByPod, ProfileByPod } from './profile-by-pod.ts'
import { OTHER, type ProfiledFunction } from './profile-run.ts'

/** A function in which pods used more processor time than the others did. */
export interface FunctionDifference extends ProfiledFunction {
  /** The median of the self seconds of all compared pods. */
  readonly median: number
  /** The number of compared pods. */
  readonly compared: number
  /** The pods that used more, the one with the most time first. */
  readonly pods: readonly DifferingPod[]
}

export interface DifferingPod {
  readonly pod: string
  /** The processor time in the function itself, in seconds. */
  readonly self: number
  /** The seconds above the median. */
  readonly more: number
  /** The processor time of all functions of the pod, in seconds. */
  readonly whole: number
}

/** The fewest pods that are compared: of two pods, neither can be called the unusual one. */
const MIN_PODS = 3
/** The least time above the median, as a part of the median. */
export const MIN_MORE = 0.25
/** The least time above the median, as a part of the processor time of the pod. */
const MIN_PART = 0.01
/** The standard deviations by which an outlier exceeds the median, as in the report. */
const DEVIATIONS = 4

/**
 * Finds the functions in which pods used more processor time than the median of the pods, the
 * greatest difference first. The additional self time of such a pod is
 *
 * - at least a quarter of the median (the POP Centre of Excellence calls a load balance below 80 %
 *   a problem),
 * - at least 1 % of the processor time of the pod,
 * - more than four standard deviations, estimated by the median absolute deviation,
 * - and more than four standard deviations of the samples, whose number is a random number with a
 *   Poisson distribution: the standard deviation is the square root of the number.
 *
 * A pod without a row about a function used 0 s in it. Pods with an incomplete profile are not
 * compared, nor is the row with the sum of all other functions.
 */
export function findDifferences(profile: ProfileByPod): readonly FunctionDifference[] {
  const { pods, incomplete, functions } = profile
  const compared = [...pods.keys()].filter((index) => incomplete[index]?.length === 0)
  if (compared.length < MIN_PODS) return []
  const isCompared = new Set(compared)
  const found = functions
    .filter(({ name }) => name !== OTHER)
    .flatMap((one) => differenceIn(one, isCompared, profile))
  return found.sort((a, b) => moreIn(b) - moreIn(a))
}

function moreIn({ pods }: FunctionDifference): number {
  return pods[0]?.more ?? 0
}

function differenceIn(
  { name, library, times }: FunctionByPod,
  compared: ReadonlySet<number>,
  { pods, seconds }: ProfileByPod,
): readonly FunctionDifference[] {
  const own = [...times.keys()].filter((index) => compared.has(index))
  // A run can have thousands of functions of a single pod: more than half of the times are 0.
  const isRare = 2 * own.length < compared.size
  const spread = isRare
    ? { middle: 0, deviation: 0 }
    : spreadOf([...compared].map((index) => times.get(index)?.self ?? 0))
  if (spread === null) return []
  const { middle, deviation } = spread
  const differing = own.flatMap((index) => {
    const { self = 0, samples = 0 } = times.get(index) ?? {}
    const [pod, whole] = [pods[index] ?? '', seconds[index] ?? 0]
    const more = self - middle
    const least = Math.max(MIN_MORE * middle, MIN_PART * whole)
    const far = DEVIATIONS * Math.max(deviation, samplingError(self, middle, samples))
    return more > 0 && more >= least && more > far ? [{ pod, self, more, whole }] : []
  })
  if (differing.length === 0) return []
  const sorted = differing.sort((a, b) => b.more - a.more)
  return [{ name, library, median: middle, compared: compared.size, pods: sorted }]
}

/** Returns the standard deviation of the difference of two times that samples measured. */
function samplingError(self: number, middle: number, samples: number): number {
  if (samples === 0) return 0
  const period = self / samples
  return Math.sqrt(period * (self + middle))
}

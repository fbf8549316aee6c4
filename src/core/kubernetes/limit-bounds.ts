import type { Bounds } from './limit-range.ts'
import type { Resources } from './pod-resources.ts'
import { writeQuantity } from './quantity.ts'

/**
 * Returns the first violation of a LimitRange's bounds, or undefined if the resources are within
 * the bounds. The wording follows the message of the admission plugin LimitRanger.
 *
 * The rules come from kubernetes v1.36 plugin/pkg/admission/limitranger/admission.go,
 * minConstraint, maxConstraint and limitRequestRatioConstraint.
 *
 * @param resources the resources of a container or of a pod, according to `bounds.type`
 * @param name the name of the container, or a noun for the pod
 */
export function boundsProblem(
  bounds: Bounds,
  resources: Resources,
  name: string,
): string | undefined {
  const rules = [
    ['minimum', bounds.min, minProblem],
    ['maximum', bounds.max, maxProblem],
    ['maximum limit/request ratio', bounds.maxLimitRequestRatio, ratioProblem],
  ] as const
  for (const [word, amounts, problemOf] of rules) {
    for (const [key, bound] of amounts) {
      const amount = { request: resources.requests.get(key), limit: resources.limits.get(key) }
      const problem = problemOf(bound, amount)
      if (problem === undefined) continue
      return `${word} ${key} per ${bounds.type} is ${writeQuantity(bound)}, but ${name} ${problem}`
    }
  }
  return undefined
}

/** The request and the limit of one resource. */
export interface ResourceAmounts {
  readonly request: bigint | undefined
  readonly limit: bigint | undefined
}

function minProblem(min: bigint, { request, limit }: ResourceAmounts): string | undefined {
  if (request === undefined) return 'has no request'
  if (request < min) return `requests ${writeQuantity(request)}`
  const isBelow = limit !== undefined && limit < min
  return isBelow ? `has a limit of ${writeQuantity(limit)}` : undefined
}

function maxProblem(max: bigint, { request, limit }: ResourceAmounts): string | undefined {
  if (limit === undefined) return 'has no limit'
  if (limit > max) return `has a limit of ${writeQuantity(limit)}`
  return request !== undefined && request > max ? `requests ${writeQuantity(request)}` : undefined
}

/** Returns how a request and a limit exceed a maximum ratio, or undefined if they do not. */
export function ratioProblem(
  most: bigint,
  { request = 0n, limit = 0n }: ResourceAmounts,
): string | undefined {
  if (request === 0n) return 'requests 0'
  if (limit === 0n) return 'has a limit of 0'
  // Like Kubernetes, this code rounds up to thousandths and divides in floating point. An exact
  // comparison could give another result.
  const ratio = Number(thousandths(limit)) / Number(thousandths(request))
  if (ratio * 1000 <= Number(thousandths(most))) return undefined
  return `has a limit of ${writeQuantity(limit)} and requests ${writeQuantity(request)}`
}

/**
 * Converts an amount to thousandths, rounded up, as Quantity.MilliValue does. Kubernetes compares
 * whole units if an amount exceeds 2^63 thousandths. This function always returns thousandths.
 */
function thousandths(amount: bigint): bigint {
  const unit = 10n ** 9n
  return (amount + unit - 1n) / unit
}

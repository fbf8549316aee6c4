import type { Bounds } from './limit-range.ts'
import type { Resources } from './load.ts'
import { writeQuantity } from './quantity.ts'

/**
 * What bounds of a LimitRange refuse, in the words of LimitRanger's own message, or nothing.
 *
 * The rules are kubernetes v1.36 plugin/pkg/admission/limitranger/admission.go, minConstraint,
 * maxConstraint and limitRequestRatioConstraint.
 *
 * @param resources of a container or of a pod, as the bounds' type says
 */
export function boundsProblem(bounds: Bounds, resources: Resources): string | undefined {
  const rules = [
    ['minimum', bounds.min, minProblem],
    ['maximum', bounds.max, maxProblem],
    ['maximum limit/request ratio', bounds.maxLimitRequestRatio, ratioProblem],
  ] as const
  for (const [word, amounts, problemOf] of rules) {
    for (const [name, bound] of amounts) {
      const amount = { request: resources.requests.get(name), limit: resources.limits.get(name) }
      const problem = problemOf(bound, amount)
      if (problem === undefined) continue
      return `${word} ${name} per ${bounds.type} is ${writeQuantity(bound)}, but ${problem}`
    }
  }
  return undefined
}

/** What is asked of one resource. */
interface Asked {
  readonly request: bigint | undefined
  readonly limit: bigint | undefined
}

function minProblem(min: bigint, { request, limit }: Asked): string | undefined {
  if (request === undefined) return 'there is no request'
  if (request < min) return `the request is ${writeQuantity(request)}`
  return limit !== undefined && limit < min ? `the limit is ${writeQuantity(limit)}` : undefined
}

function maxProblem(max: bigint, { request, limit }: Asked): string | undefined {
  if (limit === undefined) return 'there is no limit'
  if (limit > max) return `the limit is ${writeQuantity(limit)}`
  return request !== undefined && request > max
    ? `the request is ${writeQuantity(request)}`
    : undefined
}

function ratioProblem(most: bigint, { request = 0n, limit = 0n }: Asked): string | undefined {
  if (request === 0n) return 'the request is 0'
  if (limit === 0n) return 'the limit is 0'
  const [ratio, mostRatio] = ratiosOf(limit, request, most)
  if (ratio <= mostRatio) return undefined
  return `the limit is ${writeQuantity(limit)} and the request ${writeQuantity(request)}`
}

const MILLI = 10n ** 9n
const WHOLE = 10n ** 12n
/** Beyond it Kubernetes reckons in whole units (apimachinery api/resource, MaxMilliValue). */
const MOST_IN_MILLI = (2n ** 63n - 1n) / 1000n

/** In floating point and with the precision of Kubernetes, whose rounding is part of its answer. */
function ratiosOf(limit: bigint, request: bigint, most: bigint): readonly [number, number] {
  const isFine = [limit, request, most].every((amount) => inUnits(amount, WHOLE) <= MOST_IN_MILLI)
  const unit = isFine ? MILLI : WHOLE
  const ratio = Number(inUnits(limit, unit)) / Number(inUnits(request, unit))
  return inUnits(most, WHOLE) <= MOST_IN_MILLI
    ? [ratio * 1000, Number(inUnits(most, MILLI))]
    : [ratio, Number(inUnits(most, WHOLE))]
}

/** Rounded up, as Quantity.Value and MilliValue do. */
function inUnits(amount: bigint, unit: bigint): bigint {
  return (amount + unit - 1n) / unit
}

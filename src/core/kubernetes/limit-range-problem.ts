import { quote } from '../text/quote.ts'
import { boundsProblem } from './limit-bounds.ts'
import type { LimitRange } from './limit-range.ts'
import {
  type ContainerResources,
  type PodResources,
  type Resources,
  sumContainers,
  withPodLevel,
} from './pod-resources.ts'
import { writeQuantity } from './quantity.ts'
import { EMPTY_RESOURCE_LIST, type ResourceList } from './resource-list.ts'

/**
 * Why a namespace's LimitRanges would refuse a pod with its observers, as a sentence; or nothing.
 *
 * A pod whose own sum a LimitRange refuses is refused anyway, and may be left for that: another
 * webhook may still change it, and then it must not fail for us. Where several LimitRanges fill in
 * the same resource, Kubernetes takes them in no order; here the first one counts.
 *
 * @param load what the pod asks for with the observers
 * @param observers the part of it that is ours
 */
export function limitRangeProblem(
  limitRanges: readonly LimitRange[],
  load: PodResources,
  observers: readonly ContainerResources[],
): string | undefined {
  const isOfPods = limitRanges.some(({ bounds }) => bounds.some(({ type }) => type === 'Pod'))
  const pod = isOfPods ? podTotal(load) : NOTHING
  for (const limitRange of limitRanges) {
    const problem = scarceGift(limitRange, observers) ?? refusal(limitRange, pod, observers)
    if (problem !== undefined) return `LimitRange ${quote(limitRange.name)}: ${problem}`
  }
  return undefined
}

/** Where no bound is of the sum over a pod. */
const NOTHING: Resources = { requests: EMPTY_RESOURCE_LIST, limits: EMPTY_RESOURCE_LIST }

/**
 * What LimitRanger sums up over a pod: overhead is no part of it, and of `spec.resources` processor
 * and memory alone (limitranger, podRequests and podLimits).
 */
function podTotal(load: PodResources): Resources {
  const isSupported = (name: string) => name === 'cpu' || name === 'memory'
  return {
    requests: withPodLevel(sumContainers(load, 'requests'), load.podLevel?.requests, isSupported),
    limits: withPodLevel(sumContainers(load, 'limits'), load.podLevel?.limits, isSupported),
  }
}

function refusal(
  { bounds }: LimitRange,
  pod: Resources,
  observers: readonly ContainerResources[],
): string | undefined {
  for (const bound of bounds) {
    const judged = bound.type === 'Pod' ? [{ ...pod, name: 'the pod' }] : observers
    for (const resources of judged) {
      const problem = boundsProblem(bound, resources)
      if (problem !== undefined) return `${problem} of ${resources.name}`
    }
  }
  return undefined
}

/** What every container may be given: the processor, memory and disk of a node are shared. */
const SHARED = new Set(['cpu', 'memory', 'ephemeral-storage'])

/**
 * A default of devices or huge pages would give each observer some of its own: the pod would need
 * more of what a node has few of, and might never be scheduled.
 */
function scarceGift(
  { defaults }: LimitRange,
  observers: readonly ContainerResources[],
): string | undefined {
  const [observer] = observers
  const gifts = [...defaults.requests, ...defaults.limits]
  const gift = gifts.find(([name, amount]) => !SHARED.has(name) && amount > 0n)
  if (gift === undefined || observer === undefined) return undefined
  return `each container gets ${writeQuantity(gift[1])} of ${gift[0]}, ${observer.name} too`
}

/**
 * What the validation of a pod refuses in resources that LimitRanges filled in, as a sentence; or
 * nothing: kubernetes v1.36 pkg/apis/core/validation/validation.go, validateResourceRequirements
 * and validatePodResourceConsistency.
 */
export function filledProblem(
  load: PodResources,
  observers: readonly ContainerResources[],
): string | undefined {
  const { podLevel } = load
  for (const observer of observers) {
    const problem = aboveLimits(observer, podLevel?.limits ?? EMPTY_RESOURCE_LIST)
    if (problem !== undefined) return `a LimitRange gives ${observer.name} ${problem}`
  }
  const above = podLevel && firstAbove(sumContainers(load, 'requests'), podLevel.requests)
  if (above === undefined) return undefined
  return `with what a LimitRange gives the observers, requests of ${above} pass the pod's`
}

function aboveLimits(
  { requests, limits, isInit }: ContainerResources,
  podLimits: ResourceList,
): string | undefined {
  const own = firstAbove(requests, limits)
  if (own !== undefined) return `a request of ${own} above its limit`
  const above = isInit ? undefined : firstAbove(limits, podLimits)
  return above && `a limit of ${above} above the pod's`
}

/** The first resource of which one list has more than the other. */
function firstAbove(amounts: ResourceList, most: ResourceList): string | undefined {
  for (const [name, amount] of amounts) {
    if (amount > (most.get(name) ?? amount)) return name
  }
  return undefined
}

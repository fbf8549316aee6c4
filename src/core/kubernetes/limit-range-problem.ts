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
 * Returns the reason why the LimitRanges of a namespace prevent observers in a pod, as a sentence,
 * or undefined if they do not: a LimitRange would refuse the pod or an observer, or would give the
 * observers a scarce resource.
 *
 * A pod that violates a bound of type `Pod` even without observers is reported too. Another webhook
 * may still correct such a pod, and observers must not cause a refusal of the corrected pod.
 *
 * If several LimitRanges set a default for the same resource, Kubernetes applies them in an
 * unspecified order. Here, the first LimitRange takes precedence.
 *
 * @param load the resources of the pod including the observers
 * @param observers the resources of the observers only
 */
export function limitRangeProblem(
  limitRanges: readonly LimitRange[],
  load: PodResources,
  observers: readonly ContainerResources[],
): string | undefined {
  const isOfPods = limitRanges.some(({ bounds }) => bounds.some(({ type }) => type === 'Pod'))
  const pod = isOfPods ? podTotal(load) : NOTHING
  for (const limitRange of limitRanges) {
    const problem = scarceGift(limitRange, observers) ?? violation(limitRange, pod, observers)
    if (problem !== undefined) return `LimitRange ${quote(limitRange.name)}: ${problem}`
  }
  return undefined
}

/**
 * Used instead of the sum over the pod if no bound has the type `Pod`, so no bound needs the sum.
 */
const NOTHING: Resources = { requests: EMPTY_RESOURCE_LIST, limits: EMPTY_RESOURCE_LIST }

/**
 * Computes the sum over a pod as the admission plugin LimitRanger does: without overhead, and with
 * only cpu and memory from `spec.resources` (limitranger, podRequests and podLimits).
 */
export function podTotal(load: PodResources): Resources {
  const isSupported = (name: string) => name === 'cpu' || name === 'memory'
  return {
    requests: withPodLevel(sumContainers(load, 'requests'), load.podLevel?.requests, isSupported),
    limits: withPodLevel(sumContainers(load, 'limits'), load.podLevel?.limits, isSupported),
  }
}

function violation(
  { bounds }: LimitRange,
  pod: Resources,
  observers: readonly ContainerResources[],
): string | undefined {
  for (const bound of bounds) {
    const judged = bound.type === 'Pod' ? [{ ...pod, name: 'the pod' }] : observers
    for (const resources of judged) {
      const problem = boundsProblem(bound, resources, resources.name)
      if (problem !== undefined) return problem
    }
  }
  return undefined
}

/**
 * The resources for which observers may get the defaults of a LimitRange. All pods on a node share
 * these resources.
 */
const SHARED: ReadonlySet<string> = new Set(['cpu', 'memory', 'ephemeral-storage'])

/** Reports whether all pods on a node share a resource, unlike a device or huge pages. */
export function isSharedResource(name: string): boolean {
  return SHARED.has(name)
}

/**
 * Reports a default for a scarce resource, such as a device or huge pages, that an observer gets.
 * The pod would need more of the resource and might never be scheduled.
 */
function scarceGift(
  { defaults }: LimitRange,
  observers: readonly ContainerResources[],
): string | undefined {
  for (const { name: observer, requests, limits } of observers) {
    const gifts = [...requests, ...limits].filter(([name]) => !isSharedResource(name))
    const gift = gifts.find(([name, amount]) => amount > 0n && hasDefault(defaults, name))
    if (gift === undefined) continue
    const [name, amount] = gift
    return `its default of ${writeQuantity(amount)} ${name} would also apply to ${observer}`
  }
  return undefined
}

function hasDefault({ requests, limits }: Resources, name: string): boolean {
  return requests.has(name) || limits.has(name)
}

/**
 * Returns the reason why pod validation would refuse the resources that LimitRanges filled in, as a
 * sentence, or undefined if the resources are valid.
 *
 * The rules come from kubernetes v1.36 pkg/apis/core/validation/validation.go,
 * validateResourceRequirements and validatePodResourceConsistency.
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
  const gift = 'with the requests that a LimitRange gives the observers'
  return `${gift}, the containers request more ${above} than the pod`
}

function aboveLimits(
  { requests, limits, isInit }: ContainerResources,
  podLimits: ResourceList,
): string | undefined {
  const own = firstAbove(requests, limits)
  if (own !== undefined) return `a request for ${own} above its limit`
  const above = isInit ? undefined : firstAbove(limits, podLimits)
  return above && `a limit for ${above} above the limit of the pod`
}

/** Returns the first resource whose amount in `amounts` is greater than in `most`. */
function firstAbove(amounts: ResourceList, most: ResourceList): string | undefined {
  for (const [name, amount] of amounts) {
    if (amount > (most.get(name) ?? amount)) return name
  }
  return undefined
}

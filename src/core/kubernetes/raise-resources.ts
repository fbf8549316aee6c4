import { ratioProblem } from './limit-bounds.ts'
import type { Bounds, LimitRange } from './limit-range.ts'
import { isSharedResource, podTotal } from './limit-range-problem.ts'
import type { ContainerResources, PodResources } from './pod-resources.ts'
import type { ResourceList } from './resource-list.ts'

/** The containers that are added to a pod: init containers that run first, and observers. */
export interface AddedContainers {
  readonly first: readonly ContainerResources[]
  readonly last: readonly ContainerResources[]
}

/** A container whose amounts can still be raised. */
interface Raised extends ContainerResources {
  readonly requests: Map<string, bigint>
  readonly limits: Map<string, bigint>
}

/**
 * Raises the requests and limits of added containers to the smallest amounts that the minimums and
 * the ratios of LimitRanges allow. A default for a resource that only one pod can use, such as a
 * device, is replaced by 0, and a default request above the default limit by the limit. If a rule
 * cannot be met, the result violates it.
 *
 * - A container's limit and request are at least the minimum of a container.
 * - A request is at least the limit divided by the maximum ratio.
 * - If the pod has no limit without the added containers, their limits add up to the minimum of a
 *   pod.
 * - If the ratio of a pod is too large, the requests of the added containers are raised, up to
 *   their limits.
 *
 * @param before the resources of the pod without the added containers
 */
export function raiseResources(
  limitRanges: readonly LimitRange[],
  before: PodResources,
  added: AddedContainers,
): AddedContainers {
  const bounds = limitRanges.flatMap((limitRange) => limitRange.bounds)
  const ofContainers = bounds.filter(({ type }) => type === 'Container')
  const ofPods = bounds.filter(({ type }) => type === 'Pod')
  const [first, last] = [added.first.map(copy), added.last.map(copy)]
  for (const container of [...first, ...last]) {
    dropScarce(container)
    lowerRequests(container)
    raiseContainer(container, ofContainers)
  }
  const load = { ...before, containers: [...first, ...before.containers, ...last] }
  const isUnlimited = (name: string) => !podTotal(before).limits.has(name)
  for (const { min } of ofPods)
    for (const [name, least] of sharedIn(min).filter(([one]) => isUnlimited(one)))
      raiseLimits(name, roundUp(name, least), load, last)
  for (const observer of last) raiseContainer(observer, ofContainers)
  for (const bound of ofPods) raiseRequests(bound, load, first, last)
  return { first, last }
}

function copy(container: ContainerResources): Raised {
  const { requests, limits } = container
  return { ...container, requests: new Map(requests), limits: new Map(limits) }
}

function dropScarce({ requests, limits }: Raised): void {
  for (const list of [requests, limits])
    for (const name of list.keys()) if (!isSharedResource(name)) list.set(name, 0n)
}

/** Lowers requests above their limits, which the defaults of two LimitRanges can cause. */
function lowerRequests({ requests, limits }: Raised): void {
  for (const [name, limit] of limits)
    if ((requests.get(name) ?? limit) > limit) requests.set(name, limit)
}

/** Raises the amounts of one container to the minimums and ratios for containers. */
function raiseContainer({ requests, limits }: Raised, bounds: readonly Bounds[]): void {
  for (const [name, least] of bounds.flatMap(({ min }) => sharedIn(min))) {
    raiseTo(requests, name, roundUp(name, least))
    if (limits.has(name)) raiseTo(limits, name, roundUp(name, least))
  }
  for (const [name, most] of bounds.flatMap(({ maxLimitRequestRatio }) => [
    ...maxLimitRequestRatio,
  ]))
    raiseTo(requests, name, leastRequest(name, limits.get(name), most))
}

function sharedIn(list: ResourceList): readonly (readonly [string, bigint])[] {
  return [...list].filter(([name]) => isSharedResource(name))
}

function raiseTo(list: Map<string, bigint>, name: string, least: bigint): void {
  if ((list.get(name) ?? 0n) < least) list.set(name, least)
}

/** The quantity 1, as readQuantity returns it. */
const ONE = 10n ** 12n
const MILLI = 10n ** 9n

/** Returns the smallest step of a resource: a thousandth of a CPU, otherwise 1, such as a byte. */
function stepOf(name: string): bigint {
  return name === 'cpu' ? MILLI : ONE
}

function roundUp(name: string, amount: bigint): bigint {
  const step = stepOf(name)
  return ((amount + step - 1n) / step) * step
}

/** Returns the smallest request for which the ratio of limit to request is allowed. */
function leastRequest(name: string, limit = 0n, most = 0n): bigint {
  if (limit <= 0n || most <= 0n) return 0n
  const least = roundUp(name, (limit * ONE + most - 1n) / most)
  // Kubernetes divides in floating point, which can exceed the exact quotient.
  const isAllowed = ratioProblem(most, { request: least, limit }) === undefined
  return isAllowed ? least : least + stepOf(name)
}

/**
 * Raises the limit of the first observer until the limits add up to the minimum of a pod that has
 * no limit of its own. Without observers, Kubernetes does not compare such a pod with the minimum
 * for limits. A maximum for containers would be the default limit of the pod's own containers.
 */
function raiseLimits(
  name: string,
  least: bigint,
  load: PodResources,
  observers: readonly Raised[],
): void {
  const lacking = least - sumOf(observers, 'limits', name)
  const isSufficient = (podTotal(load).limits.get(name) ?? least) >= least
  const limits = observers.find((observer) => observer.limits.has(name))?.limits
  if (!isSufficient) limits?.set(name, (limits.get(name) ?? 0n) + lacking)
}

function sumOf(
  containers: readonly ContainerResources[],
  kind: 'requests' | 'limits',
  name: string,
): bigint {
  return containers.reduce((sum, container) => sum + (container[kind].get(name) ?? 0n), 0n)
}

/** Raises the requests of the added containers until the ratio of the pod is allowed. */
function raiseRequests(
  { maxLimitRequestRatio }: Bounds,
  load: PodResources,
  first: readonly Raised[],
  observers: readonly Raised[],
): void {
  for (const [name, most] of maxLimitRequestRatio) {
    const total = podTotal(load)
    const least = leastRequest(name, total.limits.get(name), most)
    if ((total.requests.get(name) ?? 0n) >= least) continue
    if (!raiseObservers(name, least, load, observers)) raiseFirst(name, least, first)
  }
}

/**
 * Raises the requests of observers, at most to their limits, until the containers that run at the
 * same time request an amount together. Changes nothing if their limits are too small.
 */
function raiseObservers(
  name: string,
  least: bigint,
  { containers }: PodResources,
  observers: readonly Raised[],
): boolean {
  const running = containers.filter(({ isInit, isSidecar }) => !isInit || isSidecar)
  let lacking = least - sumOf(running, 'requests', name)
  const room = sumOf(observers, 'limits', name) - sumOf(observers, 'requests', name)
  if (room < lacking) return false
  for (const { requests, limits } of observers) {
    const request = requests.get(name) ?? 0n
    const limit = limits.get(name) ?? request
    const raised = limit - request < lacking ? limit : request + lacking
    raiseTo(requests, name, raised)
    lacking -= raised - request
  }
  return true
}

/** Raises the request of the first init container that has a sufficient limit. */
function raiseFirst(name: string, least: bigint, first: readonly Raised[]): void {
  first.find(({ limits }) => (limits.get(name) ?? 0n) >= least)?.requests.set(name, least)
}

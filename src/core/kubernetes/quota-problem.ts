import { quote } from '../text/quote.ts'
import type { Fields } from './json.ts'
import {
  type ContainerResources,
  isPodResource,
  type PodResources,
  type Resources,
  sumContainers,
  withPodLevel,
} from './pod-resources.ts'
import { writeQuantity } from './quantity.ts'
import type { Quota } from './quota.ts'
import { isInScope } from './quota-scope.ts'
import { type ResourceList, sum } from './resource-list.ts'

/** A pod before and after its observers are added. */
export interface Change {
  /** The spec of the pod. */
  readonly spec: Fields
  readonly before: PodResources
  readonly after: PodResources
  /** The resources of the observers only. */
  readonly observers: readonly ContainerResources[]
}

/**
 * Returns the reason why the ResourceQuotas of a namespace would refuse a pod with its observers,
 * as a sentence, or undefined if the quotas would accept the pod.
 *
 * Only the resources whose usage the observers increase are checked. If a quota counts the pod only
 * because of the observers, all resources of the quota are checked. For example, the limits of an
 * observer turn a BestEffort pod into a Burstable pod.
 *
 * The result is an estimate, because usage changes between this check and the check by Kubernetes,
 * which comes later in the admission of the pod. For the same reason, a quota that has no room even
 * for the pod without observers is reported: when Kubernetes checks the quota, the quota may have
 * room for the pod but not for the observers.
 *
 * The rules come from k8s.io/apiserver v0.36 pkg/admission/plugin/resourcequota/controller.go,
 * CheckRequest, and kubernetes v1.36 pkg/quota/v1/evaluator/core/pods.go.
 */
export function quotaProblem(quotas: readonly Quota[], change: Change): string | undefined {
  const usage = { before: computeUsage(change.before), after: computeUsage(change.after) }
  const wasBestEffort = isBestEffort(change.before)
  const staysBestEffort = isBestEffort(change.after)
  for (const quota of quotas.filter((quota) => counts(quota, change.spec, staysBestEffort))) {
    const isNew = !counts(quota, change.spec, wasBestEffort)
    const demanded = isNew ? change.after.containers : change.observers
    const problem =
      unspecified(quota, change.after, demanded) ??
      exceeded(quota, isNew ? usage.after : grown(usage))
    if (problem !== undefined) return `ResourceQuota ${quote(quota.name)}: ${problem}`
  }
  return undefined
}

function counts({ scopes }: Quota, spec: Fields, isBestEffort: boolean): boolean {
  return scopes.every((scope) => isInScope(scope, spec, isBestEffort))
}

/** Returns the usage after the change, for the resources whose usage increases. */
function grown({
  before,
  after,
}: {
  readonly before: ResourceList
  readonly after: ResourceList
}): ResourceList {
  return new Map([...after].filter(([name, amount]) => amount > (before.get(name) ?? 0n)))
}

/**
 * The quota keys that require every container to specify a resource (pods.go, validationSet). Each
 * entry consists of the key, the container's list that must have the resource, and the resource.
 */
const DEMANDED = [
  ['cpu', 'requests', 'cpu'],
  ['memory', 'requests', 'memory'],
  ['requests.cpu', 'requests', 'cpu'],
  ['requests.memory', 'requests', 'memory'],
  ['limits.cpu', 'limits', 'cpu'],
  ['limits.memory', 'limits', 'memory'],
] as const

function unspecified(
  { hard }: Quota,
  load: PodResources,
  containers: readonly ContainerResources[],
): string | undefined {
  if (load.isSetByPod) return undefined
  for (const [demand, kind, name] of DEMANDED) {
    const silent = containers.find((container) => hard.has(demand) && !container[kind].has(name))
    if (silent !== undefined) {
      return `every container must set ${kind}.${name}, and ${quote(silent.name)} does not`
    }
  }
  return undefined
}

function exceeded({ hard, used }: Quota, usage: ResourceList): string | undefined {
  for (const [name, amount] of usage) {
    const most = hard.get(name)
    const taken = used.get(name) ?? 0n
    if (most === undefined || amount === 0n || taken + amount <= most) continue
    const [needed, spent, bound] = [amount, taken, most].map(writeQuantity)
    return `with its observers, the pod needs ${needed} of ${name}; ${spent} of ${bound} is used`
  }
  return undefined
}

/** One pod or one object, in 10^-12 units. */
const ONE = 10n ** 12n

/** The resources whose limits count against a quota. */
const OF_A_NODE: readonly string[] = ['cpu', 'memory', 'ephemeral-storage']

/**
 * Returns the usage of a pod, by the keys that quotas use.
 *
 * The rules come from kubernetes v1.36 pkg/quota/v1/evaluator/core/pods.go, PodUsageFunc, and
 * k8s.io/component-helpers v0.36 resource/helpers.go, PodRequests and PodLimits.
 */
export function computeUsage(load: PodResources): ResourceList {
  const usage = new Map([
    ['pods', ONE],
    ['count/pods', ONE],
  ])
  for (const [name, amount] of computeRequests(load)) {
    usage.set(`requests.${name}`, amount)
    if (!name.includes('/')) usage.set(name, amount)
  }
  for (const [name, amount] of computeLimits(load)) {
    if (OF_A_NODE.includes(name)) usage.set(`limits.${name}`, amount)
  }
  return usage
}

function computeRequests(load: PodResources): ResourceList {
  const requests = sumContainers(load, 'requests')
  return sum([withPodLevel(requests, load.podLevel?.requests, isPodResource), load.overhead])
}

function computeLimits(load: PodResources): ResourceList {
  const limits = withPodLevel(sumContainers(load, 'limits'), load.podLevel?.limits, isPodResource)
  // Overhead is added only to limits that are not zero.
  return new Map(
    [...limits].map(([name, limit]) => [name, limit && limit + readOverhead(load, name)]),
  )
}

function readOverhead({ overhead }: PodResources, name: string): bigint {
  return overhead.get(name) ?? 0n
}

/**
 * Reports whether a pod has the QoS class BestEffort: no requests or limits for cpu or memory
 * (kubernetes v1.36 pkg/apis/core/v1/helper/qos/qos.go, ComputePodQOS).
 */
export function isBestEffort({ podLevel, containers }: PodResources): boolean {
  const all: readonly Resources[] = podLevel ? [podLevel] : containers
  return all.every(({ requests, limits }) => isNone(requests) && isNone(limits))
}

function isNone(amounts: ResourceList): boolean {
  return (amounts.get('cpu') ?? 0n) <= 0n && (amounts.get('memory') ?? 0n) <= 0n
}

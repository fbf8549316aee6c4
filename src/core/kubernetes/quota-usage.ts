import {
  isPodResource,
  type PodResources,
  type Resources,
  sumContainers,
  withPodLevel,
} from './pod-resources.ts'
import { type ResourceList, sum } from './resource-list.ts'

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

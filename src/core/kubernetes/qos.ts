import type { Fields } from './json.ts'
import type { Container, Pod } from './pod.ts'
import { readQuantity } from './quantity.ts'

const RESOURCES = ['cpu', 'memory'] as const

/**
 * Reports whether a pod without pod-level resources has the QoS class Guaranteed. All containers,
 * including init containers, must have cpu and memory limits, and the sum of the requests must
 * equal the sum of the limits.
 *
 * The rule comes from kubernetes v1.36 pkg/apis/core/v1/helper/qos/qos.go, ComputePodQOS.
 */
export function isGuaranteed(pod: Pod): boolean {
  const containers = [...pod.containers, ...pod.initContainers]
  return (
    containers.every(({ limits }) => RESOURCES.every((name) => limits[name] !== undefined)) &&
    containers.every(({ limits }) => RESOURCES.every((name) => amount(limits, name) > 0n)) &&
    RESOURCES.every((name) => isSame(containers, name))
  )
}

function isSame(containers: readonly Container[], name: string): boolean {
  if (containers.every(({ limits, requests }) => limits[name] === requests[name])) return true
  const limits = containers.map((container) => amount(container.limits, name))
  const requests = containers.map((container) => amount(container.requests, name))
  return sum(limits) === sum(requests)
}

/** Returns an amount in 10^-12 units. Invalid and negative quantities count as 0. */
function amount(list: Fields, resource: string): bigint {
  const quantity = readQuantity(list[resource]) ?? 0n
  return quantity > 0n ? quantity : 0n
}

function sum(quantities: readonly bigint[]): bigint {
  return quantities.reduce((total, quantity) => total + quantity, 0n)
}

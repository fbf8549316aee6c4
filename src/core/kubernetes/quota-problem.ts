import { quote } from '../text/quote.ts'
import type { Fields } from './json.ts'
import type { ContainerResources, PodResources } from './pod-resources.ts'
import { writeQuantity } from './quantity.ts'
import type { Quota } from './quota.ts'
import { isInScope } from './quota-scope.ts'
import { computeUsage, isBestEffort } from './quota-usage.ts'
import type { ResourceList } from './resource-list.ts'

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

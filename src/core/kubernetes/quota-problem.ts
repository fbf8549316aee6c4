import { quote } from '../text/quote.ts'
import type { Fields } from './json.ts'
import type { ContainerResources, PodResources } from './pod-resources.ts'
import { writeQuantity } from './quantity.ts'
import type { Quota } from './quota.ts'
import { isInScope } from './quota-scope.ts'
import { computeUsage, isBestEffort } from './quota-usage.ts'
import type { ResourceList } from './resource-list.ts'

/** A pod as it came and as it would be with its observers. */
export interface Change {
  /** The pod's. */
  readonly spec: Fields
  readonly before: PodResources
  readonly after: PodResources
  /** The part of it that is ours. */
  readonly observers: readonly ContainerResources[]
}

/**
 * Why a namespace's ResourceQuotas would refuse a pod with its observers, as a sentence; or nothing.
 *
 * Only what observers add is looked at, and all of a quota that counts a pod on their account:
 * limits make a BestEffort pod a Burstable one. What is used changes between a review and
 * admission, so this is the best knowledge and no promise: an exhausted quota is not taken for a pod
 * that is refused anyway, since it may have room by then for the pod alone.
 *
 * The rules are k8s.io/apiserver v0.36 pkg/admission/plugin/resourcequota/controller.go,
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

/** What a pod uses more of than it did. */
function grown({
  before,
  after,
}: {
  readonly before: ResourceList
  readonly after: ResourceList
}): ResourceList {
  return new Map([...after].filter(([name, amount]) => amount > (before.get(name) ?? 0n)))
}

/** What a quota that bounds it demands of every container (pods.go, validationSet). */
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
      return `every container must say its ${kind}.${name}, and ${quote(silent.name)} does not`
    }
  }
  return undefined
}

function exceeded({ hard, used }: Quota, usage: ResourceList): string | undefined {
  for (const [name, amount] of usage) {
    const most = hard.get(name)
    const taken = used.get(name) ?? 0n
    if (most === undefined || amount === 0n || taken + amount <= most) continue
    const [asked, spent, bound] = [amount, taken, most].map(writeQuantity)
    return `the pod would have ${name} of ${asked}; ${spent} of ${bound} is used`
  }
  return undefined
}

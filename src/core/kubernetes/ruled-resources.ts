import type { LimitRange } from './limit-range.ts'
import type { Quota } from './quota.ts'

/** The resources that decide whether a pod is BestEffort (qos.go, ComputePodQOS), in any namespace. */
const OF_ANY_QUOTA: readonly string[] = ['cpu', 'memory']

/** How a quota names requests and limits of a resource (core/v1 ResourceName). */
const PREFIX = /^(?:requests|limits)\./

/**
 * The names of the resources that any rule of a namespace mentions: the defaults and bounds of its
 * LimitRanges, and the keys of its quotas. No other resource of a pod can change what they decide.
 */
export function ruledResources(
  limitRanges: readonly LimitRange[],
  quotas: readonly Quota[],
): ReadonlySet<string> {
  const names = new Set(OF_ANY_QUOTA)
  const lists = limitRanges.flatMap(({ defaults, bounds }) => [
    defaults.requests,
    defaults.limits,
    ...bounds.flatMap(({ min, max, maxLimitRequestRatio }) => [min, max, maxLimitRequestRatio]),
  ])
  for (const list of lists) for (const name of list.keys()) names.add(name)
  for (const { hard } of quotas) {
    for (const key of hard.keys()) names.add(key).add(key.replace(PREFIX, ''))
  }
  return names
}

import type { LimitRange } from './limit-range.ts'
import type { Quota } from './quota.ts'

/**
 * The resources that are always included, because they determine whether a pod is BestEffort
 * (qos.go, ComputePodQOS).
 */
const OF_ANY_QUOTA: readonly string[] = ['cpu', 'memory']

/** The prefix of a quota key for the requests or limits of a resource (core/v1 ResourceName). */
const PREFIX = /^(?:requests|limits)\./

/**
 * Returns cpu, memory, and the names of all resources that the rules of a namespace mention: the
 * defaults and bounds of its LimitRanges, and the keys of its quotas. Other resources cannot change
 * the result of a rule.
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

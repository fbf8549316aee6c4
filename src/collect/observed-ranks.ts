import type { ObservedRanks } from '../log/entry.ts'
import type { PodOfObservers } from './observers.ts'

/**
 * Counts the observed ranks of a workload. A rank is the pods of one controller with the same rank,
 * for example after a retry, or a pod without a known rank. A rank is observed if one of its pods
 * has an observer. Pods that were skipped because they have no known rank do not count.
 *
 * @param workload the name of the workload
 * @returns null unless the annotation `ridealong.dev/ranks`, of the request or of a metric,
 * excluded a pod
 */
export function countRanks(
  pods: readonly PodOfObservers[],
  workload: string,
): ObservedRanks | null {
  if (!pods.some(({ isSelective }) => isSelective)) return null
  const all = new Set<string>()
  const observed = new Set<string>()
  const byMetric = new Map<string, Set<string>>()
  for (const pod of pods.filter(({ isUnranked }) => !isUnranked)) {
    const key = keyOf(pod)
    all.add(key)
    for (const { container } of pod.observers) {
      observed.add(key)
      byMetric.set(container, (byMetric.get(container) ?? new Set()).add(key))
    }
  }
  const metrics = [...byMetric].map(([metric, ranks]) => [metric, ranks.size] as const)
  return {
    workload,
    total: all.size,
    observed: observed.size,
    metrics: Object.fromEntries(metrics),
  }
}

function keyOf({ name, owner, rank }: PodOfObservers): string {
  return JSON.stringify(rank === null ? [name] : [owner, rank])
}

import type { ObservedPods } from '../log/entry.ts'
import type { PodOfObservers } from './observers.ts'

/**
 * Counts the observed pods of a workload. Pods of one controller with the same index count as one
 * pod, for example a pod and its retry, which is observed if one of them has an observer. A pod
 * without a known index counts as one pod, unless it was left for this reason.
 *
 * @param workload the name of the workload
 * @returns null unless an annotation `ridealong.dev/pods` or `METRIC.ridealong.dev/pods` excluded
 * a pod, or a metric of a pod
 */
export function countPods(pods: readonly PodOfObservers[], workload: string): ObservedPods | null {
  if (!pods.some(({ isSelective }) => isSelective)) return null
  const all = new Set<string>()
  const observed = new Set<string>()
  const byMetric = new Map<string, Set<string>>()
  for (const pod of pods.filter(({ hasNoIndex }) => !hasNoIndex)) {
    const key = keyOf(pod)
    all.add(key)
    for (const { container } of pod.observers) {
      observed.add(key)
      byMetric.set(container, (byMetric.get(container) ?? new Set()).add(key))
    }
  }
  const metrics = [...byMetric].map(([metric, pods]) => [metric, pods.size] as const)
  return {
    workload,
    total: all.size,
    observed: observed.size,
    metrics: Object.fromEntries(metrics),
  }
}

function keyOf({ name, owner, pod_index }: PodOfObservers): string {
  return JSON.stringify(pod_index === null ? [name] : [owner, pod_index])
}

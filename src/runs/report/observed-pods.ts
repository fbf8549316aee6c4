import type { ObservedPods } from '../log/entry.ts'
import { describeObservedPods } from '../log/observed-pods.ts'
import type { CollectedRun } from './gather.ts'

/**
 * Returns how many pods of each workload are observed, for the workloads of which not all are. If
 * the logs of a workload differ, because pods were created while they were collected, the numbers
 * with the most pods are returned.
 */
export function listObservedPods({ sources }: CollectedRun): readonly ObservedPods[] {
  const known = new Map<string, ObservedPods>()
  for (const { place, log } of sources.values()) {
    const observed = log?.observedPods
    if (observed === undefined || observed === null) continue
    const key = JSON.stringify([place.namespace, observed.workload])
    const other = known.get(key)
    if (other === undefined || observed.total > other.total) known.set(key, observed)
  }
  return [...known.values()]
}

/** Returns the notices about workloads of which not all pods are observed. */
export function podNotices(run: CollectedRun): readonly string[] {
  return listObservedPods(run).map((pods) => {
    const counted = `${pods.workload}: ${describeObservedPods(pods)}`
    return `${counted} (ridealong.dev/pods). This report is only about the observed pods.`
  })
}

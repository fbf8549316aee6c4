import type { Gap } from '../findings/looked-at.ts'
import type { ObservedPods } from '../log/entry.ts'
import { describeObservedPods } from '../log/observed-pods.ts'
import { podsText } from '../rules/sentence.ts'
import type { CollectedRun, LogSource } from './gather.ts'

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

/**
 * Returns the pods of a run of which there is no log: as `collect` counted them, or those with an
 * index below that of another pod.
 */
export function unseenPods(run: CollectedRun): readonly Gap[] {
  const names = new Set([...run.sources.values()].map(({ place }) => podKey(place)))
  const counted = listObservedPods(run)
  const total = counted.reduce((sum, one) => sum + one.total, 0)
  if (counted.length === 0)
    return missingPods([...run.sources.values()].map(({ place }) => place.pod_index))
  return total > names.size ? [unseen(`${total - names.size} of ${total} pods`)] : []
}

/** Returns the pods whose index is below that of another pod, and is not among the given ones. */
export function missingPods(indexes: readonly (string | null)[]): readonly Gap[] {
  const missing = missingIndexes(indexes)
  return missing.length === 0 ? [] : [unseen(podsText(missing))]
}

function unseen(what: string): Gap {
  return { what, how: null, pods: null, isOfTool: false }
}

function podKey({ namespace, pod, source }: LogSource['place']): string {
  return JSON.stringify([namespace, pod ?? source])
}

/** Returns the numbers below the greatest one that are missing; none if not all are numbers. */
function missingIndexes(indexes: readonly (string | null)[]): readonly string[] {
  if (!indexes.every((index) => index !== null && /^\d{1,6}$/.test(index))) return []
  const known = new Set(indexes.map(Number))
  const most = Math.max(...known, 0)
  return Array.from({ length: most }, (_, index) => index)
    .filter((index) => !known.has(index))
    .map(String)
}

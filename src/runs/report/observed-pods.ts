import { asText } from '../../core/kubernetes/json.ts'
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
export function listObservedPods(run: CollectedRun): readonly ObservedPods[] {
  return [...observedByWorkload(run).values()]
}

/** Returns the same by namespace and workload. */
function observedByWorkload({ sources }: CollectedRun): ReadonlyMap<string, ObservedPods> {
  const known = new Map<string, ObservedPods>()
  for (const source of sources.values()) {
    const [key, observed] = [workloadKey(source), source.log?.observedPods ?? null]
    if (key === undefined || observed === null) continue
    const other = known.get(key)
    if (other === undefined || observed.total > other.total) known.set(key, observed)
  }
  return known
}

/** Returns the namespace and the workload of a log; undefined if `collect` counted no pods. */
function workloadKey({ place, log }: LogSource): string | undefined {
  const workload = log?.observedPods?.workload
  return workload === undefined ? undefined : JSON.stringify([place.namespace, workload])
}

/** Returns the notices about workloads of which not all pods are observed. */
export function podNotices(run: CollectedRun): readonly string[] {
  return listObservedPods(run).map((pods) => {
    const counted = `${pods.workload}: ${describeObservedPods(pods)}`
    return `${counted} (ridealong.dev/pods). This report is only about the observed pods.`
  })
}

/**
 * Returns the pods of a run of which there is no log: of each workload as `collect` counted them,
 * or those with an index below that of another pod.
 */
export function unseenPods(run: CollectedRun): readonly Gap[] {
  const sources = [...run.sources.values()]
  const counted = observedByWorkload(run)
  if (counted.size === 0) return missingPods(sources.map(({ place }) => place.pod_index))
  const pods = [...Map.groupBy(sources, ({ place }) => podKey(place)).values()]
  // A pod whose logs lack their ends can be of any workload.
  let missing = -pods.filter((logs) => logs.every(({ log }) => log === undefined)).length
  let all = 0
  for (const [workload, { total }] of counted) {
    const own = pods.filter((logs) => logs.some((log) => workloadKey(log) === workload))
    missing += Math.max(total - new Set(own.map(seenKey)).size, 0)
    all += total
  }
  return missing > 0 ? [unseen(`${missing} of ${all} pods`)] : []
}

/** Identifies a pod as `countPods` of collect does: a pod and its retry count as one. */
function seenKey(logs: readonly LogSource[]): string {
  const [{ place }] = logs as [LogSource]
  if (place.pod_index === null) return podKey(place)
  const owner = logs.map(({ log }) => asText(log?.metadata.owner)).find(Boolean)
  return JSON.stringify([owner, place.pod_index])
}

/** Returns the pods whose index is below that of another pod, and is not among the given ones. */
export function missingPods(indexes: readonly (string | null)[]): readonly Gap[] {
  const missing = missingIndexes(indexes)
  return missing.length === 0 ? [] : [unseen(podsText(missing))]
}

function unseen(what: string): Gap {
  return { what, how: null, pods: null, isOfTool: false, polled: null }
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

/** The workload of a run. Each is null if it is not the same in all logs, or not known. */
export interface ReportedWorkload {
  /** KIND/NAME of the owner of the pods. */
  readonly owner: string | null
  readonly namespace: string | null
}

/** Returns the owner and the namespace of the observed pods. */
export function findWorkload({ sources }: Pick<CollectedRun, 'sources'>): ReportedWorkload {
  const all = [...sources.values()]
  const owner = onlyOf(all.map(({ log }) => log?.metadata.owner))
  const namespace = onlyOf(all.map(({ place }) => place.namespace))
  return { owner, namespace }
}

function onlyOf(values: readonly unknown[]): string | null {
  const [first, ...others] = new Set(values)
  return others.length === 0 && typeof first === 'string' && first !== '' ? first : null
}

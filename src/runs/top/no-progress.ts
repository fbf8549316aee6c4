import { groupByPod } from '../evidence/run-evidence.ts'
import type { Stored } from '../evidence/stores.ts'
import { METRICS } from '../metrics/index.ts'
import type { RunMetric } from '../metrics/metric.ts'
import type { StuckGroup } from '../rules/rule.ts'
import { type LiveObserver, type LivePod, silenceOf } from './pods.ts'

/** Processes that make no progress now. */
export interface NoProgress {
  /** One sentence or more, for people. */
  readonly sentence: string
  /** The pods of the processes that wait or are late, as NAMESPACE/POD. */
  readonly pods: ReadonlySet<string>
}

/** The metrics whose rows show whether processes make progress. */
const FINDING: readonly RunMetric[] = METRICS.filter((metric) => 'stuck' in metric)

/**
 * Finds the processes that make no progress now, by the same rule as the report. A process whose
 * rows do not arrive does not count.
 *
 * @param now the current time, in milliseconds since 1970
 */
export function findNoProgress(pods: readonly LivePod[], now: number): readonly NoProgress[] {
  const stores = new Map(FINDING.flatMap((metric) => storeNow(metric, pods, now)))
  const nothing = {
    sections: [],
    profiles: new Map(),
    ended: new Map(),
    podLimits: new Map(),
    uses: new Map(),
  }
  // The source of the rows of a live log is its pod.
  const run = groupByPod({ ...nothing, standIns: [], stores }, (source) => source)
  return FINDING.flatMap(({ name, stuck }) => {
    const live = podsWith(pods, (one) => one.metric === name && !hasEnded(one))
    const groups = stuck?.find(run) ?? []
    const current = groups.filter((group) => stuck?.live.countsEnded !== true || waits(group, live))
    return current.map((group) => ({
      sentence: group.describeNow(),
      pods: new Set(group.pods.map(({ pod }) => pod)),
    }))
  })
}

/** Joins the last rows of the logs of a metric that count. */
function storeNow(
  { name, store, stuck }: RunMetric,
  pods: readonly LivePod[],
  now: number,
): readonly (readonly [string, Stored])[] {
  if (store === undefined) return []
  const own = pods.flatMap(({ observers }) => observers.filter(({ metric }) => metric === name))
  const current = own.filter((one) => {
    return hasEnded(one) ? stuck?.live.countsEnded === true : silenceOf(one, now) === undefined
  })
  const live = current.flatMap((one) => (one.live === undefined ? [] : [one.live.store()]))
  return [[name, { of: store, store: store.join(live) }]]
}

function podsWith(
  pods: readonly LivePod[],
  isMeant: (observer: LiveObserver) => boolean,
): ReadonlySet<string> {
  const own = pods.filter(({ observers }) => observers.some(isMeant))
  return new Set(own.map(({ namespace, pod }) => `${namespace}/${pod}`))
}

/** Reports whether a process waits in one of the pods that have not ended. */
function waits({ pods }: StuckGroup, live: ReadonlySet<string>): boolean {
  return pods.some(({ pod, lost }) => lost !== null && live.has(pod))
}

function hasEnded({ isOver, log }: LiveObserver): boolean {
  return isOver || log.hasEnded()
}

import { groupByRank } from '../evidence/run-evidence.ts'
import type { Stored } from '../evidence/stores.ts'
import { METRICS } from '../metrics/index.ts'
import type { RunMetric } from '../metrics/metric.ts'
import type { StuckGroup } from '../rules/rule.ts'
import { type LiveObserver, type LiveRank, silenceOf } from './ranks.ts'

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
export function findNoProgress(ranks: readonly LiveRank[], now: number): readonly NoProgress[] {
  const stores = new Map(FINDING.flatMap((metric) => storeNow(metric, ranks, now)))
  const nothing = { sections: [], profiles: new Map(), ended: new Map(), podLimits: new Map() }
  // The source of the rows of a live log is its pod.
  const run = groupByRank({ ...nothing, standIns: [], stores }, (source) => source)
  return FINDING.flatMap(({ name, stuck }) => {
    const pods = podsWith(ranks, (one) => one.metric === name && !hasEnded(one))
    const groups = stuck?.find(run) ?? []
    const current = groups.filter((group) => stuck?.live.countsEnded !== true || waits(group, pods))
    return current.map((group) => ({
      sentence: group.describeNow(),
      pods: new Set(group.ranks.map(({ rank }) => rank)),
    }))
  })
}

/** Joins the last rows of the logs of a metric that count. */
function storeNow(
  { name, store, stuck }: RunMetric,
  ranks: readonly LiveRank[],
  now: number,
): readonly (readonly [string, Stored])[] {
  if (store === undefined) return []
  const own = ranks.flatMap(({ observers }) => observers.filter(({ metric }) => metric === name))
  const current = own.filter((one) => {
    return hasEnded(one) ? stuck?.live.countsEnded === true : silenceOf(one, now) === undefined
  })
  const live = current.flatMap((one) => (one.live === undefined ? [] : [one.live.store()]))
  return [[name, { of: store, store: store.join(live) }]]
}

function podsWith(
  ranks: readonly LiveRank[],
  isMeant: (observer: LiveObserver) => boolean,
): ReadonlySet<string> {
  const own = ranks.filter(({ observers }) => observers.some(isMeant))
  return new Set(own.map(({ namespace, pod }) => `${namespace}/${pod}`))
}

/** Reports whether a process waits in one of the pods. */
function waits({ ranks }: StuckGroup, pods: ReadonlySet<string>): boolean {
  return ranks.some(({ rank, lost }) => lost !== null && pods.has(rank))
}

function hasEnded({ isOver, log }: LiveObserver): boolean {
  return isOver || log.hasEnded()
}

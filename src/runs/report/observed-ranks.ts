import type { ObservedRanks } from '../log/entry.ts'
import { describeObservedRanks } from '../log/observed-ranks.ts'
import type { CollectedRun } from './gather.ts'

/**
 * Returns how many ranks of each workload are observed, for the workloads of which not all are. If
 * the logs of a workload differ, because pods were created while they were collected, the numbers
 * with the most ranks are returned.
 */
export function listObservedRanks({ sources }: CollectedRun): readonly ObservedRanks[] {
  const known = new Map<string, ObservedRanks>()
  for (const { place, log } of sources.values()) {
    const observed = log?.observedRanks
    if (observed === undefined || observed === null) continue
    const key = JSON.stringify([place.namespace, observed.workload])
    const other = known.get(key)
    if (other === undefined || observed.total > other.total) known.set(key, observed)
  }
  return [...known.values()]
}

/** Returns the notices about workloads of which not all ranks are observed. */
export function rankNotices(run: CollectedRun): readonly string[] {
  return listObservedRanks(run).map((ranks) => {
    const counted = `${ranks.workload}: ${describeObservedRanks(ranks)}`
    return `${counted} (ridealong.dev/pods). This report is only about the observed ranks.`
  })
}

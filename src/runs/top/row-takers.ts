import type { RowsDescription } from '../../core/catalog.ts'
import type { RowOrigin } from '../log/columns.ts'
import { type LogEvidence, startLogEvidence } from './findings/log-evidence.ts'
import { joinTakers, type RowTaker } from './live-log.ts'
import { startLiveStore } from './live-store.ts'
import { type LiveObserver, type LiveRank, logName } from './ranks.ts'

/** The takers of the rows of a log besides the table, for findings and jobs that may be stuck. */
export interface RowTakers extends Pick<LiveObserver, 'live'> {
  readonly evidence?: LogEvidence
}

/** @param place the metric and the pod of the log */
export function startTakers(
  place: Omit<RowOrigin, 'source'> & Pick<LiveRank, 'namespace' | 'pod'>,
  description: RowsDescription,
) {
  const { metric, namespace, pod, node, rank } = place
  const source = `${namespace}/${pod}`
  const log = { source: logName(place, metric ?? ''), metric, namespace, pod, node, rank }
  return { ...startJobTakers(metric, source), evidence: startLogEvidence(log, description) }
}

/**
 * Starts the taker of the rows of a log for jobs that may be stuck.
 *
 * @param source identifies the pod
 */
export function startJobTakers(metric: string | null, source: string) {
  return { live: startLiveStore(metric, source) }
}

/** Returns a taker that passes the rows to all of them. */
export function joinedTaker({ live, evidence }: RowTakers): RowTaker {
  return joinTakers([live, evidence].filter((one) => one !== undefined))
}

import type { RowsDescription } from '../../core/catalog.ts'
import type { RowOrigin } from '../log/columns.ts'
import { startLogEvidence } from './findings/log-evidence.ts'
import { startLiveStore } from './live-store.ts'
import { type LivePod, logName } from './pods.ts'

/**
 * Starts the takers of the rows of a log besides the table, for findings and jobs that may be
 * stuck.
 *
 * @param place the metric and the pod of the log
 */
export function startTakers(
  place: Omit<RowOrigin, 'source'> & Pick<LivePod, 'namespace' | 'pod'>,
  description: RowsDescription,
) {
  const { metric, namespace, pod, node, pod_index } = place
  const log = { source: logName(place, metric ?? ''), metric, namespace, pod, node, pod_index }
  return {
    live: startLiveStore(metric, `${namespace}/${pod}`),
    evidence: startLogEvidence(log, description),
  }
}

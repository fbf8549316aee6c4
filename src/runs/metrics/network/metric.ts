import type { RunMetric } from '../metric.ts'
import { NETWORK_BOUND, NETWORK_METRIC, RETRANSMISSIONS } from './network-rules.ts'

/** The interfaces, the TCP connections and the InfiniBand ports of pods. */
export const NETWORK = {
  name: NETWORK_METRIC,
  causes: [RETRANSMISSIONS, NETWORK_BOUND],
  topColumns: [
    { title: 'SENT', section: 'socket', column: 'bytes_sent', total: 'sum' },
    { title: 'RECEIVED', section: 'socket', column: 'bytes_received', total: 'sum' },
  ],
} as const satisfies RunMetric

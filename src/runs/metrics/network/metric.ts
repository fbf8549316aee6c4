import type { RunMetric } from '../metric.ts'

/** The interfaces, the TCP connections and the InfiniBand ports of pods. */
export const NETWORK = {
  name: 'network',
  topColumns: [
    { title: 'SENT', section: 'socket', column: 'bytes_sent', total: 'sum' },
    { title: 'RECEIVED', section: 'socket', column: 'bytes_received', total: 'sum' },
  ],
} as const satisfies RunMetric

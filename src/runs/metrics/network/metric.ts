import type { RunMetric } from '../metric.ts'

/** The interfaces, the TCP connections and the InfiniBand ports of pods. */
export const NETWORK = {
  name: 'network',
} as const satisfies RunMetric

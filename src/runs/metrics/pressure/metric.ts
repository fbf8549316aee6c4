import type { RunMetric } from '../metric.ts'

/** What delays processes and containers, from the kernel. */
export const PRESSURE = {
  name: 'pressure',
} as const satisfies RunMetric

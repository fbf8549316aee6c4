import type { RunMetric } from '../metric.ts'

/** The values of pidstat of each process. */
export const PERF_SYSSTAT = {
  name: 'perf-sysstat',
} as const satisfies RunMetric

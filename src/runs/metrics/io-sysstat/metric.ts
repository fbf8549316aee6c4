import type { RunMetric } from '../metric.ts'

/** The values of iostat of each device. */
export const IO_SYSSTAT = {
  name: 'io-sysstat',
} as const satisfies RunMetric

import type { Measure } from './measures.ts'

/** The measures of the node's devices that the page plots over time, from the columns of iostat. */
export const DEVICE_MEASURES: readonly Measure[] = [
  { key: 'util', title: 'Utilization', unit: '%', column: 'util' },
  { key: 'read', title: 'Read', unit: 'MiB/s', column: 'rmb_s' },
  { key: 'written', title: 'Written', unit: 'MiB/s', column: 'wmb_s' },
  { key: 'r_await', title: 'A read takes', unit: 'ms', column: 'r_await' },
  { key: 'w_await', title: 'A write takes', unit: 'ms', column: 'w_await' },
  { key: 'queue', title: 'Queue', unit: 'requests', column: 'aqu_sz' },
]

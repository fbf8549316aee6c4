import type { DeviceSample } from '../log/columns.ts'

/** The measures of the node's devices that the page plots over time. */
export const DEVICE_MEASURES = [
  { key: 'util', title: 'Utilization', unit: '%', of: (s: DeviceSample) => s.util },
  { key: 'read', title: 'Read', unit: 'MB/s', of: (s: DeviceSample) => s.rmb_s },
  { key: 'written', title: 'Written', unit: 'MB/s', of: (s: DeviceSample) => s.wmb_s },
  { key: 'r_await', title: 'A read takes', unit: 'ms', of: (s: DeviceSample) => s.r_await },
  { key: 'w_await', title: 'A write takes', unit: 'ms', of: (s: DeviceSample) => s.w_await },
  { key: 'queue', title: 'Queue', unit: 'requests', of: (s: DeviceSample) => s.aqu_sz },
] as const

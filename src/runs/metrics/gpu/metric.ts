import type { RunMetric } from '../metric.ts'
import { GPU_LIMITED, GPU_MEMORY_FULL } from './device-rules.ts'
import { GPU_IDLE_IN_PYTHON, GPU_METRIC } from './idle-rule.ts'

/** What both metrics about GPUs show. */
export const GPUS = { area: 'GPUs', what: 'GPUs', library: 'gpu', isCommon: true } as const

/** The use of GPUs, from the kernel. */
export const GPU = {
  name: GPU_METRIC,
  causes: [GPU_MEMORY_FULL, GPU_LIMITED],
  rules: [GPU_IDLE_IN_PYTHON],
  shows: GPUS,
} as const satisfies RunMetric

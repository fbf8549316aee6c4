import type { RunMetric } from '../metric.ts'
import { GPU_IDLE_IN_PYTHON, GPU_METRIC } from './idle-rule.ts'

/** The use of GPUs, from the kernel. */
export const GPU = {
  name: GPU_METRIC,
  rules: [GPU_IDLE_IN_PYTHON],
} as const satisfies RunMetric

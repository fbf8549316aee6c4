import { GPU, GPUS } from '../gpu/metric.ts'
import type { RunMetric } from '../metric.ts'

const NAME = 'gpu-nvidia'

/** The use of GPUs, from the library of NVIDIA. Its rows have the columns of gpu. */
export const GPU_NVIDIA = {
  name: NAME,
  shows: GPUS,
  standsFor: [{ metric: GPU.name, section: 'device', by: { metric: NAME, section: 'device' } }],
} as const satisfies RunMetric

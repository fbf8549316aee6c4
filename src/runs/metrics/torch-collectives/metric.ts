import type { RunMetric } from '../metric.ts'
import { LATE_IN_COLLECTIVES } from './torch-rule.ts'
import { TORCH_METRIC, TORCH_STORE } from './torch-run.ts'

/** The collective calls of PyTorch. */
export const TORCH_COLLECTIVES = {
  name: TORCH_METRIC,
  store: TORCH_STORE,
  rules: [LATE_IN_COLLECTIVES],
  shows: {
    area: 'collective calls of PyTorch',
    what: 'waiting in collective calls of PyTorch',
    library: 'torch',
  },
} as const satisfies RunMetric

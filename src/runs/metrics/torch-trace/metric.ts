import type { RunMetric } from '../metric.ts'
import { reportTraces } from './trace-part.ts'
import { TRACE_METRIC, TRACE_STORE } from './trace-run.ts'

/** The traces of PyTorch's profiler. */
export const TORCH_TRACE = {
  name: TRACE_METRIC,
  store: TRACE_STORE,
  report: reportTraces,
} as const satisfies RunMetric

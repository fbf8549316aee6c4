import type { RunMetric } from '../metric.ts'
import { NCCL_METRIC, NCCL_STORE } from './nccl-run.ts'
import { NCCL_STUCK } from './ranks-progress.ts'

/** The answers of NCCL's RAS service about the ranks of a job. */
export const NCCL_RAS = {
  name: NCCL_METRIC,
  store: NCCL_STORE,
  stuck: NCCL_STUCK,
  shows: { area: 'NCCL', what: 'waiting in NCCL', library: 'nccl' },
} as const satisfies RunMetric

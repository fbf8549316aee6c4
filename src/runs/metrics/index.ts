import type { MetricStore } from '../evidence/stores.ts'
import { MPI_STORE } from './mpi-trace/store.ts'
import { NCCL_STORE } from './nccl-ras/nccl-run.ts'
import { PYTHON_STORE } from './python-profile/current-stacks.ts'
import { TORCH_STORE } from './torch-collectives/torch-run.ts'
import { TRACE_STORE } from './torch-trace/trace-run.ts'

/** The stores of the metrics whose rows are more than values over time. */
export const STORES: readonly MetricStore[] = [
  MPI_STORE,
  NCCL_STORE,
  PYTHON_STORE,
  TORCH_STORE,
  TRACE_STORE,
]

import { CPU_PROFILE } from './cpu-profile/metric.ts'
import { GPU } from './gpu/metric.ts'
import { GPU_NVIDIA } from './gpu-nvidia/metric.ts'
import { IO_SYSSTAT } from './io-sysstat/metric.ts'
import type { RunMetric } from './metric.ts'
import { MPI_TRACE } from './mpi-trace/metric.ts'
import { NCCL_RAS } from './nccl-ras/metric.ts'
import { NETWORK } from './network/metric.ts'
import { PERF_SYSSTAT } from './perf-sysstat/metric.ts'
import { PRESSURE } from './pressure/metric.ts'
import { PYTHON_PROFILE } from './python-profile/metric.ts'
import { TORCH_COLLECTIVES } from './torch-collectives/metric.ts'
import { TORCH_TRACE } from './torch-trace/metric.ts'
import { VITALS } from './vitals/metric.ts'

/**
 * The metrics of the built-in catalog. Of metrics with the same values, the one that knows most is
 * the last. The rules of later metrics are checked first, because a finding can only be explained
 * by findings of rules that were checked before.
 */
export const METRICS = [
  MPI_TRACE,
  NCCL_RAS,
  TORCH_TRACE,
  TORCH_COLLECTIVES,
  GPU,
  GPU_NVIDIA,
  PYTHON_PROFILE,
  CPU_PROFILE,
  NETWORK,
  PERF_SYSSTAT,
  IO_SYSSTAT,
  PRESSURE,
  VITALS,
] as const satisfies readonly RunMetric[]

/** Returns a metric of the built-in catalog by its name. */
export function findMetric(name: string | null): RunMetric | undefined {
  return METRICS.find((metric) => metric.name === name)
}

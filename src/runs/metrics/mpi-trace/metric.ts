import type { RunMetric } from '../metric.ts'
import { mpiEnd } from './mpi-end.ts'
import { MUCH_TIME_IN_MPI, WAITING_IN_COLLECTIVES, WAITING_IN_POINT_TO_POINT } from './mpi-rules.ts'
import { MPI_METRIC } from './mpi-run.ts'
import { MPI_JOBS } from './recorded.ts'
import { MPI_STORE } from './store.ts'
import { MPI_STUCK } from './stuck.ts'

/** The calls of MPI of each process. */
export const MPI_TRACE = {
  name: MPI_METRIC,
  store: MPI_STORE,
  rules: [WAITING_IN_COLLECTIVES, WAITING_IN_POINT_TO_POINT, MUCH_TIME_IN_MPI],
  stuck: MPI_STUCK,
  end: mpiEnd,
  jobs: MPI_JOBS,
  shows: {
    area: 'MPI',
    what: 'waiting and hangs in MPI',
    library: 'mpi',
    isCommon: true,
    isPolled: true,
  },
} as const satisfies RunMetric

import type { MetricStore } from '../../evidence/stores.ts'
import {
  addMpiRow,
  keepLogs,
  leaveOut,
  MAX_PROCESSES,
  MPI_METRIC,
  type MpiRun,
  newMpiRun,
  sizeOf,
  withoutEnded,
} from './mpi-run.ts'
import { type KnownSums, processesSince, sumsOf } from './sums.ts'

/** Keeps the facts from the rows of mpi-trace. */
export const MPI_STORE: MetricStore<MpiRun, KnownSums> = {
  metric: MPI_METRIC,
  create: () => newMpiRun(),
  add: addMpiRow,
  keepLogs,
  join: (runs) => ({
    ...newMpiRun(),
    processes: runs.flatMap(({ processes }) => processes),
    starting: new Map(runs.flatMap(({ starting }) => [...starting])),
  }),
  leaveOut,
  // The report sums the calls up in a section of its own, because they are too many.
  isDetail: (section) => section !== 'rank',
  isFull: (run) => sizeOf(run) > MAX_PROCESSES,
  forgetEnded: (run) => (sizeOf(run) < MAX_PROCESSES / 2 ? run : withoutEnded(run)),
  sums: {
    now: ({ processes }) => sumsOf(processes),
    since: ({ processes }, then) => {
      return { ...newMpiRun(), processes: [...processesSince(processes, then)] }
    },
  },
}

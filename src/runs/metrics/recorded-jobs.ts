import type { RunEvidence } from '../evidence/run-evidence.ts'
import type { RecordedJob, RecordedStart } from '../jobs/recorded-job.ts'
import { METRICS } from './index.ts'
import type { RunMetric } from './metric.ts'

const RECORDERS = METRICS.flatMap(({ jobs }: RunMetric) => jobs ?? [])

/** The sections with the times of processes of MPI. */
export const JOB_TIMES = RECORDERS.map(({ times }) => times)

/** Returns the MPI jobs whose calls were recorded. */
export function recordedJobs(run: RunEvidence): readonly RecordedJob[] {
  return RECORDERS.flatMap(({ recorded }) => recorded(run))
}

/** Returns the largest MPI job of which no process has returned from MPI_Init. */
export function findStart(run: RunEvidence): RecordedStart | undefined {
  return RECORDERS.map(({ starting }) => starting(run)).find((job) => job !== undefined)
}

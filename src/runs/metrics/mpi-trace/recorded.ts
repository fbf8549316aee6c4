import { durationText } from '../../../lib/duration.ts'
import type { RunEvidence } from '../../evidence/run-evidence.ts'
import type {
  JobRecorder,
  RecordedJob,
  RecordedProcess,
  SleepStates,
} from '../../jobs/recorded-job.ts'
import { type JobProcess, type MpiJob, mpiJobs } from './mpi-job.ts'
import { MPI_METRIC } from './mpi-run.ts'
import { largestStart } from './stuck-start.ts'

/** The jobs of a run, for the readers of all metrics. */
export const MPI_JOBS: JobRecorder = {
  recorded: (run: RunEvidence) => run.view(mpiJobs).map(jobOf),
  starting: largestStart,
  times: {
    metric: MPI_METRIC,
    section: 'rank',
    elapsed: 'elapsed',
    inMpi: 'mpi_seconds',
    waitedOutside: 'wait_outside',
    waitedInMpi: 'wait_in_mpi',
    asleepOutside: 'asleep_outside',
    calls: 'calls',
    bytes: 'bytes',
    size: 'mpi_size',
  },
}

function jobOf(mpiJob: MpiJob): RecordedJob {
  const { job, size, processes, conflict, problem } = mpiJob
  const seen = processes.reduce(
    (most, { elapsed, open, active }) => Math.max(most, elapsed, open?.elapsed ?? 0, active),
    0,
  )
  return {
    metric: MPI_METRIC,
    job,
    size,
    processes: processes.map(processOf),
    seen,
    conflict,
    problem,
    uncounted: whyUncounted(mpiJob) ?? whyIncomparable(processes, seen),
  }
}

function processOf(process: JobProcess): RecordedProcess {
  return { ...process, cpu: cpuOf(process), states: statesOf(process) }
}

function statesOf({ open }: JobProcess): SleepStates | undefined {
  return open === null ? undefined : { asleep: open.asleepSamples, storage: open.storageSamples }
}

/** The part of the time since MPI_Init that open calls must cover. */
const MIN_COVERED = 0.5

/**
 * Returns the CPU time of a process since MPI_Init, as its open calls show it; null if they cover
 * less than half of this time. They count it since the start of the process, so only its growth is
 * known.
 */
function cpuOf({ open, elapsed }: JobProcess): number | null {
  if (open === null || open.cpuTime === null || open.first.cpuTime === null) return null
  const [used, seconds] = [open.cpuTime - open.first.cpuTime, open.elapsed - open.first.elapsed]
  return seconds > 0 && seconds >= MIN_COVERED * elapsed ? (used / seconds) * elapsed : null
}

/** Returns why fewer than two processes can be compared; null if several can. */
function whyUncounted({ conflict, problem, processes }: MpiJob): string | null {
  return processes.length > 1 ? conflict : problem
}

/** The states of processes that have recorded all of their time in MPI. */
const ENDED = ['finalized', 'exited', 'aborted']
/** The part of the time of a job to which a process that has not ended must be recorded. */
const MIN_RECORDED = 0.9
/** The seconds by which the record of a process that calls MPI may lag: it is saved each second. */
const MAX_LAG = 2

/** Returns why the times of processes cannot be compared; null if they can. */
function whyIncomparable(processes: readonly JobProcess[], seen: number): string | null {
  if (processes.some((one) => one.seconds > one.elapsed))
    return 'several threads were in MPI at once, so that the time in MPI cannot be compared'
  const stale = processes.find((one) => {
    const isStale = one.elapsed < MIN_RECORDED * seen && seen - one.elapsed > MAX_LAG
    return isStale && !ENDED.includes(one.state ?? '')
  })
  return stale === undefined
    ? null
    : `the calls of MPI rank ${stale.rank} were recorded for only ` +
        `${durationText(stale.elapsed)} of the ${durationText(seen)} of the job`
}

import type { SectionColumns } from '../evidence/evidence.ts'
import { lastOf, type RankEvidence, type RunEvidence, sumOf } from '../evidence/run-evidence.ts'
import { STORAGE_READS, storageWait } from '../findings/devices/storage-rule.ts'
import { type JobProcess, type MpiJob, mpiJobs } from '../metrics/mpi-trace/mpi-job.ts'
import { PRESSURE } from '../metrics/pressure/metric.ts'
import { type Factor, missingFactor } from './factor.ts'
import { mpiFactors, type ProcessTimes, type SplitTimes, splitTimes } from './mpi-factors.ts'
import {
  processorFactors,
  type RankShares,
  type RankTimes,
  rankShares,
} from './processor-factors.ts'
import {
  type ProcessShares,
  RUNNING_READS,
  runningTimes,
  sharesOfProcesses,
} from './running-shares.ts'

/** How efficient a run was. */
export interface Efficiency {
  /** Whether it is about the processes of an MPI job, or about the processors of all ranks. */
  readonly basis: 'mpi' | 'processors'
  /** The efficiency, with the factors of which it is the product. */
  readonly root: Factor
  /** The seconds that it is about: since MPI_Init, or those of the rows of the longest rank. */
  readonly elapsed: number
  /** The processes of the MPI job; empty if the basis are the processors. */
  readonly processes: readonly ProcessEfficiency[]
  /** The ranks; empty if the basis is an MPI job. */
  readonly ranks: readonly RankEfficiency[]
  /** The number of processes of the MPI job, or of ranks. */
  readonly size: number
  /** The identifier of the MPI job; null if there is none. */
  readonly job: string | null
  /** The number of other MPI jobs, which took less time. */
  readonly otherJobs: number
}

/** The times of a process of MPI. */
export interface ProcessEfficiency extends ProcessTimes {
  readonly mpiRank: number
  /** The process id; null if it is not known. */
  readonly pid: number | null
  readonly split: SplitTimes
}

/** The times of a rank, and the parts of its time; null if its CPU time is not known. */
export interface RankEfficiency extends RankTimes {
  readonly shares: RankShares | null
}

const CONTAINER = {
  metric: PRESSURE.name,
  section: 'container',
  columns: ['cpu_limit'],
} as const satisfies SectionColumns

/** The columns from which efficiencies are computed. */
export const EFFICIENCY_READS: readonly SectionColumns[] = [
  ...RUNNING_READS,
  ...STORAGE_READS,
  CONTAINER,
]

/**
 * Computes the efficiency of a run: of the MPI job with the most time, if the calls of a job with
 * several processes were recorded, otherwise of the processors.
 */
export function runEfficiency(run: RunEvidence): Efficiency {
  const jobs = run
    .view(mpiJobs)
    .filter(({ size }) => size > 1)
    .map((job) => ({ job, time: job.processes.reduce((sum, one) => sum + one.elapsed, 0) }))
    .sort((a, b) => b.time - a.time)
  const [longest] = jobs
  return longest === undefined
    ? processorEfficiency(run)
    : { ...jobEfficiency(longest.job, run), otherJobs: jobs.length - 1 }
}

function jobEfficiency({ job, size, problem, processes }: MpiJob, run: RunEvidence): Efficiency {
  const byName = new Map(run.ranks.map((rank) => [rank.rank, sharesOfProcesses(rank)]))
  const times = processes.map((process) => timesOf(process, byName.get(process.pod)))
  const elapsed = times.reduce((most, one) => Math.max(most, one.elapsed), 0)
  const why = problem ?? whyIncomparable(processes, elapsed)
  return {
    basis: 'mpi',
    root: why === null ? mpiFactors(times, whyUnknown(times)) : missingFactor('efficiency', why),
    elapsed,
    processes: times.map((one) => ({ ...one, split: splitTimes(one) })),
    ranks: [],
    size,
    job,
    otherJobs: 0,
  }
}

function timesOf(process: JobProcess, sharesOf: ProcessShares = () => null) {
  const { rank: mpiRank, pid, pod, elapsed, seconds, waits, fastSeconds } = process
  const times = { elapsed, inMpi: seconds, fastInMpi: fastSeconds, waits }
  return { mpiRank, pid, pod, ...times, shares: sharesOf(process) }
}

/** The states of processes that have recorded all of their time in MPI. */
const ENDED = ['finalized', 'exited', 'aborted']
/** The part of the time of a job to which a process that has not ended must be recorded. */
const MIN_RECORDED = 0.9

/** Returns why the times of processes cannot be compared; null if they can. */
function whyIncomparable(processes: readonly JobProcess[], elapsed: number): string | null {
  if (processes.some((one) => one.seconds > one.elapsed))
    return 'several threads were in MPI at once, so that the time in MPI cannot be compared'
  const stale = processes.find((one) => {
    return !ENDED.includes(one.state ?? '') && one.elapsed < MIN_RECORDED * elapsed
  })
  return stale === undefined
    ? null
    : `MPI rank ${stale.rank} made no call of MPI after ${Math.round(stale.elapsed)} s of the ` +
        `${Math.round(elapsed)} s of the job`
}

/** Returns why the time of waiting for processors is not known; null if it is. */
function whyUnknown(times: readonly ProcessTimes[]): string | null {
  const missing = times.filter(({ shares, waits }) => shares === null && waits === null).length
  return missing === 0
    ? null
    : `the time of waiting for a processor is known of only ${times.length - missing} of the ` +
        `${times.length} processes (run_delay of vitals or pressure, for at least half of the time)`
}

function processorEfficiency({ ranks }: RunEvidence): Efficiency {
  const times = ranks.filter(({ elapsed }) => elapsed > 0).map(rankTimes)
  return {
    basis: 'processors',
    root: processorFactors(times),
    elapsed: times.reduce((most, one) => Math.max(most, one.elapsed), 0),
    processes: [],
    ranks: times.map((one) => ({ ...one, shares: rankShares(one) })),
    size: times.length,
    job: null,
    otherJobs: 0,
  }
}

function rankTimes(rank: RankEvidence): RankTimes {
  const times = runningTimes(rank, true)
  return {
    rank: rank.rank,
    elapsed: rank.elapsed,
    ran: sumOf(times.map(({ ran }) => ran)),
    waited: times.some(({ waited }) => waited === null)
      ? null
      : sumOf(times.map(({ waited }) => waited)),
    storage: storageWait(rank)?.lost ?? null,
    limit: limitOf(rank),
  }
}

/** Returns the processors that a rank may use: the limit of its pod, or of all its containers. */
function limitOf(rank: RankEvidence): number | null {
  if (rank.podLimits !== null && rank.podLimits.cpu !== null) return rank.podLimits.cpu
  const limits = rank.things(CONTAINER).map((thing) => lastOf(thing, 'cpu_limit'))
  return limits.includes(null) ? null : sumOf(limits)
}

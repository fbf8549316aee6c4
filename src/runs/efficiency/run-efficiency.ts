import { maximum } from '../../lib/statistics.ts'
import type { SectionColumns } from '../evidence/evidence.ts'
import { lastOf, type PodEvidence, type RunEvidence, sumOf } from '../evidence/run-evidence.ts'
import { STORAGE_READS, storageShares, storageTime } from '../findings/devices/storage-rule.ts'
import { mayPoll } from '../findings/looked-at.ts'
import type { RecordedJob, RecordedProcess } from '../jobs/recorded-job.ts'
import { PROCESSOR_TIME_READS, timeByProgram } from '../metrics/processor-time.ts'
import { recordedJobs } from '../metrics/recorded-jobs.ts'
import { CONTAINERS } from '../metrics/usual-sections.ts'
import { type Factor, missingFactor } from './factor.ts'
import { mpiFactors, type ProcessTimes, type SplitTimes, splitTimes } from './mpi-factors.ts'
import {
  type PodShares,
  type PodTimes,
  podShares,
  processorFactors,
  withoutTimes,
} from './processor-factors.ts'
import {
  type ProcessShares,
  RUNNING_READS,
  type RunningTime,
  runningTimes,
  sharesOfProcesses,
} from './running-shares.ts'

/** How efficient a run was. */
export interface Efficiency {
  /** Whether it is about the processes of an MPI job, or about the processors of all pods. */
  readonly basis: 'mpi' | 'processors'
  /** The metric that recorded the calls of the MPI job; null if the basis are the processors. */
  readonly metric: string | null
  /** The efficiency, with the factors of which it is the product. */
  readonly root: Factor
  /** The seconds that it is about: since MPI_Init, or those of the rows of the longest pod. */
  readonly elapsed: number
  /** The seconds for which it was seen: longer if an open call was not recorded to its end. */
  readonly seen: number
  /**
   * The processes of the MPI job that were recorded, and that the efficiency is about; empty if the
   * basis are the processors.
   */
  readonly processes: readonly ProcessEfficiency[]
  /** The pods; empty if the basis is an MPI job. */
  readonly pods: readonly PodEfficiency[]
  /** The program that used nearly all CPU time of the pods; null if none did, or of an MPI job. */
  readonly program: string | null
  /** The number of processes of the MPI job, or of pods. */
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

/** The times of a pod, and the parts of its time; null if its CPU time is not known. */
export interface PodEfficiency extends PodTimes {
  readonly shares: PodShares | null
}

const CONTAINER = {
  ...CONTAINERS,
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
 *
 * @param isStuck whether processes of the run make no progress, so that it has no efficiency
 */
export function runEfficiency(run: RunEvidence, isStuck: boolean): Efficiency {
  const efficiency = recordedEfficiency(run)
  return isStuck ? withoutProgress(efficiency) : efficiency
}

/** Says that an efficiency is not known because processes make no progress. */
export function withoutProgress(efficiency: Efficiency): Efficiency {
  if (efficiency.root.value !== null) return efficiency
  return { ...efficiency, root: missingFactor('efficiency', 'the job made no progress') }
}

function recordedEfficiency(run: RunEvidence): Efficiency {
  const jobs = run
    .view(recordedJobs)
    .filter(({ size }) => size > 1)
    .map((job) => ({ job, time: job.processes.reduce((sum, one) => sum + one.elapsed, 0) }))
    .sort((a, b) => b.time - a.time)
  const [longest] = jobs
  return longest === undefined
    ? processorEfficiency(run)
    : { ...jobEfficiency(longest.job, run), otherJobs: jobs.length - 1 }
}

function jobEfficiency(recorded: RecordedJob, run: RunEvidence): Efficiency {
  const { metric, job, size, processes, seen, uncounted } = recorded
  const byName = new Map(
    run.pods.map((pod) => {
      return [pod.pod, { running: sharesOfProcesses(pod), storage: storageShares(pod) }]
    }),
  )
  const times = processes.map((process) => timesOf(process, byName.get(process.pod)))
  return {
    basis: 'mpi',
    metric,
    root:
      uncounted === null
        ? mpiFactors(times, whyUnknown(times))
        : missingFactor('efficiency', uncounted),
    elapsed: times.reduce((most, one) => Math.max(most, one.elapsed), 0),
    seen,
    processes: times.map((one) => ({ ...one, split: splitTimes(one) })),
    pods: [],
    program: null,
    size,
    job,
    otherJobs: 0,
  }
}

/** What other metrics know of the processes of a pod. */
interface KnownShares {
  readonly running: ProcessShares
  readonly storage: (pid: number | null) => number | null
}

function timesOf(process: RecordedProcess, known: KnownShares | undefined) {
  const { rank: mpiRank, pid, pod, elapsed, seconds, waits, asleep, fastSeconds, states } = process
  const shares = known?.running(process) ?? null
  const stored = known?.storage(pid) ?? null
  return {
    mpiRank,
    pid,
    pod,
    elapsed,
    inMpi: seconds,
    fastInMpi: fastSeconds,
    waits,
    asleep,
    shares,
    cpu: shares === null ? process.cpu : shares.ran * shares.threads * elapsed,
    storage: stored === null ? null : stored * elapsed,
    states,
  }
}

/** Returns why the time of waiting for processors is not known; null if it is. */
function whyUnknown(times: readonly ProcessTimes[]): string | null {
  const missing = times.filter(({ shares, waits }) => shares === null && waits === null).length
  return missing === 0
    ? null
    : `the time of waiting for a processor is known of only ${times.length - missing} of the ` +
        `${times.length} processes (run_delay of vitals or pressure, for at least half of the time)`
}

/** Reports whether processes of a pod have rows with their CPU time. */
function hasProcesses(pod: PodEvidence): boolean {
  return PROCESSOR_TIME_READS.some((read) => pod.things(read).length > 0)
}

function processorEfficiency(run: RunEvidence): Efficiency {
  const { pods } = run
  const own = pods.map((pod) => ({ pod, running: runningTimes(pod, true) }))
  const times = own.filter(({ pod }) => pod.elapsed > 0).map(podTimes)
  const isLimit = mayPoll(run) || own.some(hasSeveral)
  const elapsed = times.reduce((most, one) => Math.max(most, one.elapsed), 0)
  return {
    basis: 'processors',
    metric: null,
    root:
      times.length > 0 ? processorFactors(times, isLimit) : withoutTimes(pods.some(hasProcesses)),
    elapsed,
    seen: elapsed,
    processes: [],
    pods: times.map((one) => ({ ...one, shares: podShares(one) })),
    program: mainProgram(pods),
    size: times.length,
    job: null,
    otherJobs: 0,
  }
}

/** The part of the CPU time from which a program is the main program of the run. */
const MAIN_PART = 0.9

function mainProgram(pods: readonly PodEvidence[]): string | null {
  const programs = new Map<string, number>()
  for (const pod of pods)
    for (const [program, seconds] of timeByProgram(pod))
      programs.set(program, (programs.get(program) ?? 0) + seconds)
  const all = sumOf([...programs.values()]) ?? 0
  const main = [...programs].find(([, seconds]) => seconds > 0 && seconds >= MAIN_PART * all)
  return main?.[0] ?? null
}

/** A pod, with the times of its processes. */
interface RunningPod {
  readonly pod: PodEvidence
  readonly running: readonly RunningTime[]
}

/** Other processes than the busiest that ran for less than this part of the time do not count. */
const NEGLIGIBLE = 0.01

/** Reports whether several processes of a pod ran. Its CPU time is not that of one of them. */
function hasSeveral({ pod, running }: RunningPod): boolean {
  const ran = running.map((time) => time.ran)
  return (sumOf(ran) ?? 0) - (maximum(ran) ?? 0) > NEGLIGIBLE * pod.elapsed
}

function podTimes({ pod, running }: RunningPod): PodTimes {
  return {
    pod: pod.pod,
    elapsed: pod.elapsed,
    ran: sumOf(running.map(({ ran }) => ran)),
    waited: running.some(({ waited }) => waited === null)
      ? null
      : sumOf(running.map(({ waited }) => waited)),
    storage: storageTime(pod),
    limit: limitOf(pod),
  }
}

/** Returns the processors that a pod may use: the limit of its pod, or of all its containers. */
function limitOf(pod: PodEvidence): number | null {
  if (pod.podLimits !== null && pod.podLimits.cpu !== null) return pod.podLimits.cpu
  const limits = pod.things(CONTAINER).map((thing) => lastOf(thing, 'cpu_limit'))
  return limits.includes(null) ? null : sumOf(limits)
}

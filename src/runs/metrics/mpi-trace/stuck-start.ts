import { maximum } from '../../../lib/statistics.ts'
import type { RunEvidence } from '../../evidence/run-evidence.ts'
import { storeOf } from '../../evidence/stores.ts'
import { wasBefore } from '../../log/clock.ts'
import { type AbsentActivity, activityOf, MIN_SAMPLES } from '../../waiting/absent-activity.ts'
import type { MpiRun } from './mpi-run.ts'
import type { StartingProcess } from './starting-processes.ts'
import { MPI_STORE } from './store.ts'

/** A process that has not returned from MPI_Init. */
export interface StartingMember extends StartingProcess {
  /** The pod of the process, as reports name it. */
  readonly pod: string
}

/** The processes of a job that have not returned from MPI_Init. */
export interface StartingJob {
  /** The number of processes of MPI_COMM_WORLD; 0 if it is not known. */
  readonly size: number
  /** In the order of their ranks. */
  readonly members: readonly StartingMember[]
  /** The number of processes that have returned from MPI_Init, and run. */
  readonly running: number
}

/** A process that others wait for in MPI_Init. */
export interface AbsentMember {
  readonly member: StartingMember
  readonly activity: AbsentActivity
}

/** Processes that wait in MPI_Init for each other, or for one that has not called it. */
export interface StuckStart {
  readonly why: 'start'
  /** The processes that are in MPI_Init. There is at least one. */
  readonly waiting: readonly StartingMember[]
  /** The processes that have not called MPI_Init, or have ended in it. */
  readonly late: readonly AbsentMember[]
  /** The number of processes of the job of which there are no rows; null if it is not known. */
  readonly unrecorded: number | null
}

/** Returns the processes that have not returned from MPI_Init, by MPI job. */
export function startingJobs({ stores, podOf }: RunEvidence): readonly StartingJob[] {
  return joinStarting(storeOf(stores, MPI_STORE), podOf)
}

/** Returns the job with the most processes, all of which have not returned from MPI_Init. */
export function largestStart(run: RunEvidence): StartingJob | undefined {
  const jobs = startingJobs(run).filter(({ size, running }) => size > 1 && running === 0)
  return jobs.toSorted((a, b) => b.size - a.size)[0]
}

/**
 * Groups the processes that have not returned from MPI_Init by job: by the identifier of the job
 * and its size.
 *
 * @param podOf returns the pod of a log, as reports name it
 */
export function joinStarting(
  { processes, starting }: Pick<MpiRun, 'processes' | 'starting'>,
  podOf: (source: string) => string,
): readonly StartingJob[] {
  const all = [...starting.values()].map((one) => ({ ...one, pod: podOf(one.source) }))
  const jobs = Map.groupBy(all, jobKey)
  const running = new Map<string, number>()
  // Whoever writes the logs decides how many jobs and processes there are.
  for (const process of processes) {
    if (process.state !== 'running') continue
    const key = jobKey(process)
    running.set(key, (running.get(key) ?? 0) + 1)
  }
  return [...jobs].map(([key, members]) => {
    const [{ size }] = members as [StartingMember]
    const rankIn = ({ rank }: StartingMember) => rank ?? Number.POSITIVE_INFINITY
    const sorted = members.toSorted((a, b) => (rankIn(a) < rankIn(b) ? -1 : 1))
    return { size, members: sorted, running: running.get(key) ?? 0 }
  })
}

function jobKey({ job, size }: Pick<StartingMember, 'job' | 'size'>): string {
  return JSON.stringify([job, size])
}

/** Finds the processes of a job that were in MPI_Init at the last two timepoints. */
export function findStuckStart(job: StartingJob): readonly StuckStart[] {
  const latest = maximum(job.members.map(({ at }) => at)) ?? 0
  const hasEnded = ({ endedAt }: StartingMember) => endedAt !== null && endedAt <= latest
  const isCurrent = ({ at, interval }: StartingMember) => !wasBefore(at, interval, latest)
  const members = job.members.filter((one) => hasEnded(one) || isCurrent(one))
  const isLate = (one: StartingMember) => one.call === null || hasEnded(one)
  const waiting = members.filter((one) => !isLate(one) && one.samples >= MIN_SAMPLES)
  if (waiting.length === 0) return []
  const late = members.filter(isLate).map((member) => {
    const ended = { is: 'ended', state: 'lost' } as const
    return { member, activity: hasEnded(member) ? ended : activityOf(member) }
  })
  const unrecorded = Math.max(job.size - members.length - job.running, 0)
  return [{ why: 'start', waiting, late, unrecorded: job.size === 0 ? null : unrecorded }]
}

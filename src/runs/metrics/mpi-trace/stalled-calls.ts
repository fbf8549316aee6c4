import { minimum } from '../../../lib/statistics.ts'
import { type CollectiveCall, collectiveOf, keyOf } from './collective-arguments.ts'
import type { JobProcess } from './mpi-job.ts'
import type { WaitingJob, WaitingProcess } from './waiting-processes.ts'

/** Calls that no process leaves, although every process is in one that could end them. */
export interface StalledCalls {
  /** The collective call that all members have begun; null if all processes of the job wait. */
  readonly call: CollectiveCall | null
  /** The number of these members or processes. */
  readonly processes: number
  /** The seconds for which all of them have been in their calls. */
  readonly seconds: number
}

/** The calls that wait for processes that are no members of the communicator (MPI 4.0, 11). */
const WAITS_FOR_OTHER_JOBS = /^MPI_Comm_(accept|connect|spawn|spawn_multiple|join)$/

/**
 * Finds calls that do not end, although no process is known to be late: a collective call that all
 * members have begun, while all of them wait in calls of MPI; or the calls of all processes of the
 * job. A library of MPI may send the data of a call only while the process is in another call, so
 * members that are in none may be the cause. A process may wait for one that is not recorded, or
 * for another job; then nothing is found.
 *
 * @param reached processes that wait, by way of which a process waits
 */
export function findStalled(
  reached: readonly WaitingProcess[],
  job: WaitingJob,
): StalledCalls | undefined {
  if (!isWhole(job)) return undefined
  const calls = reached.flatMap(({ thread }) => collectiveOf(thread) ?? [])
  const different = new Map(calls.map((call) => [keyOf(call), call]))
  for (const [key, call] of [...different].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const members = job.members.get(call.communicator) ?? []
    const seconds = waitedBy(members, key, job, (one) => hasBegun(one, call))
    if (seconds !== undefined) return { call, processes: members.length, seconds }
  }
  const seconds = waitedBy(job.processes, '', job, () => true)
  if (seconds === undefined) return undefined
  return { call: null, processes: job.processes.length, seconds }
}

/** Reports whether all processes of the job are recorded. */
function isWhole({ processes }: WaitingJob): boolean {
  const [first] = processes
  return first !== undefined && processes.length === first.size
}

function hasBegun({ begun }: JobProcess, { communicator, number }: CollectiveCall): boolean {
  return (begun.get(communicator)?.begun ?? 0) >= number
}

/**
 * Returns the seconds for which all processes have been in calls; undefined if one of them is in
 * none, or is not meant.
 *
 * @param key a text that is the same for the same processes
 */
function waitedBy(
  processes: readonly JobProcess[],
  key: string,
  { waiting, together }: WaitingJob,
  isMeant: (process: JobProcess) => boolean,
): number | undefined {
  if (together.has(key)) return together.get(key)
  const all = processes.flatMap((process) => {
    return (isMeant(process) ? waiting.get(process) : undefined) ?? []
  })
  const isKnown = all.length === processes.length && !all.some(waitsForOtherJobs)
  const seconds = isKnown ? (minimum(all.map(({ waited }) => waited)) ?? undefined) : undefined
  together.set(key, seconds)
  return seconds
}

function waitsForOtherJobs({ threads }: WaitingProcess): boolean {
  return threads.some(({ call, communicator }) => {
    return WAITS_FOR_OTHER_JOBS.test(call) || communicator?.startsWith('jobs-') === true
  })
}

import { maximum } from '../../../lib/statistics.ts'
import { wasBefore } from '../../log/clock.ts'
import { MIN_SAMPLES } from '../../waiting/absent-activity.ts'
import type { JobProcess } from './mpi-job.ts'
import type { OpenCalls, OpenThread } from './open-calls.ts'

/** A thread that waits in a call of MPI. */
export type WaitingThread = OpenThread & { readonly call: string }

/** A process that waits in a call of MPI. */
export interface WaitingProcess {
  readonly process: JobProcess
  readonly open: OpenCalls
  /** The thread that waits for another process; if none is known to, the one that waits longest. */
  readonly thread: WaitingThread
  /** All threads that wait, those that wait longest first. */
  readonly threads: readonly WaitingThread[]
  /** The seconds since the call of `thread` began. */
  readonly waited: number
}

/** The processes of a job, and those that wait. */
export interface WaitingJob {
  readonly processes: readonly JobProcess[]
  readonly ranks: ReadonlyMap<number, JobProcess>
  readonly waiting: ReadonlyMap<JobProcess, WaitingProcess>
  /** The processes that are members of each communicator. */
  readonly members: ReadonlyMap<string, readonly JobProcess[]>
  /** What processes need in collective calls. All that wait in the same call need the same. */
  readonly collectives: Map<string, Needs>
  /** The number of different collective calls of each communicator in `collectives`. */
  readonly calls: Map<string, number>
  /** The names of the functions of the collective calls in which processes wait. */
  readonly functions: ReadonlyMap<string, ReadonlySet<string>>
  /** The point-to-point calls in which each process waits. */
  readonly transfers: Map<WaitingProcess, Transfers>
  /** When a process of the job was last seen in MPI, in seconds since 1970. */
  readonly latest: number
}

/** The transfers for which a process waits in point-to-point calls, by peer; null for any. */
type Transfers = ReadonlyMap<number | null, ReadonlySet<string>>

/**
 * The number of different collective calls of a communicator in which processes may wait at once.
 * All members make the same calls in the same order, so a program has few; for more, it is not
 * known which members are late.
 */
const MAX_CALLS = 256

/** What a process waits for. */
export interface Needs {
  readonly processes: readonly JobProcess[]
  /** Whether it is in another collective call than a member of its communicator. */
  readonly isMismatch: boolean
  /** The number of members of the communicator that are not recorded. */
  readonly unrecorded: number
  /** Whether the call does not say for which process it waits. */
  readonly isUnknown: boolean
}

/** The calls that return only when other processes have made theirs. */
const WAITS = /^MPI_(Wait|Probe|Mprobe|Finalize)/

/** Finds the processes of a job that were in the same call of MPI at two timepoints. */
export function findWaiting(processes: readonly JobProcess[]): WaitingJob {
  const latest = maximum(processes.map(({ open }) => open?.at ?? null)) ?? 0
  const ranks = new Map(processes.map((process) => [process.rank, process]))
  const waiting = new Map(
    processes.flatMap((process) => {
      const own = waitingIn(process, latest)
      return own === undefined ? [] : [[process, own] as const]
    }),
  )
  const members = membersIn(processes)
  const job = {
    processes,
    ranks,
    waiting,
    members,
    latest,
    functions: functionsIn(waiting),
    collectives: new Map(),
    calls: new Map(),
    transfers: new Map(),
  }
  const chosen = [...waiting].map(([process, own]) => [process, withThread(own, job)] as const)
  return { ...job, waiting: new Map(chosen) }
}

/** Returns the names of functions by the communicator and the number of their calls. */
function functionsIn(
  waiting: ReadonlyMap<JobProcess, WaitingProcess>,
): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>()
  for (const [process, { threads }] of waiting) {
    const own = communicatorsOf(process)
    for (const { call, communicator, number } of threads) {
      // A process that is no member of the communicator does not count.
      if (communicator === null || number === null || !own.has(communicator)) continue
      const key = `${communicator} ${number}`
      found.set(key, (found.get(key) ?? new Set()).add(nameOf(call)))
    }
  }
  return found
}

/** Returns the members of each communicator, in the order of the processes. */
function membersIn(processes: readonly JobProcess[]): ReadonlyMap<string, readonly JobProcess[]> {
  const all = processes.flatMap((process) => {
    return [...communicatorsOf(process)].map((name) => ({ name, process }))
  })
  const groups = Map.groupBy(all, ({ name }) => name)
  return new Map([...groups].map(([name, own]) => [name, own.map(({ process }) => process)]))
}

function communicatorsOf({ begun, state }: JobProcess): ReadonlySet<string> {
  // A process that was killed before the observer has seen it is a member of MPI_COMM_WORLD, too.
  return new Set([...begun.keys(), ...(state === 'lost' ? ['world'] : [])])
}

/** Returns the call in which a process waits; undefined if it does not wait, or moves. */
function waitingIn(process: JobProcess, latest: number): WaitingProcess | undefined {
  const { open, state } = process
  if (open === null || (state !== 'running' && state !== 'lost')) return undefined
  if (wasBefore(open.at, open.interval, latest)) return undefined
  if (open.threads.some(({ samples }) => samples < MIN_SAMPLES)) return undefined
  const threads = waitingThreads(open)
  const [thread] = threads
  if (thread === undefined) return undefined
  return { process, open, thread, threads, waited: open.elapsed - thread.since }
}

/** Returns the threads that are in calls that return only when other processes make theirs. */
export function waitingThreads(open: OpenCalls | null): readonly WaitingThread[] {
  return (open?.threads ?? []).flatMap(waitingThread)
}

function waitingThread(thread: OpenThread): readonly WaitingThread[] {
  const { call, number, transfer } = thread
  if (call === null) return []
  return number !== null || transfer !== null || WAITS.test(call) ? [{ ...thread, call }] : []
}

/** Chooses the thread that waits for another process: a thread that serves others may wait too. */
function withThread(own: WaitingProcess, job: WaitingJob): WaitingProcess {
  const needsOthers = (thread: WaitingThread) => {
    const { processes, isMismatch, unrecorded } = findNeeds({ ...own, thread }, job)
    return processes.length > 0 || isMismatch || unrecorded > 0
  }
  const thread = own.threads.find(needsOthers) ?? own.thread
  return { ...own, thread, waited: own.open.elapsed - thread.since }
}

/** Returns what a process waits for in its call. */
export function findNeeds(own: WaitingProcess, job: WaitingJob): Needs {
  const { number, communicator, transfer, peer } = own.thread
  if (number !== null && communicator !== null) return membersOf(own, communicator, number, job)
  const isUnknown = transfer === null || peer === null
  const other = isUnknown ? undefined : job.ranks.get(peer)
  const isServed = other === undefined || other === own.process || isMatching(own, other, job)
  return {
    processes: isServed ? [] : [other],
    isMismatch: false,
    unrecorded: !isUnknown && other === undefined ? 1 : 0,
    isUnknown,
  }
}

function membersOf(
  own: WaitingProcess,
  communicator: string,
  number: number,
  job: WaitingJob,
): Needs {
  const key = `${communicator} ${number} ${own.thread.call}`
  const known = job.collectives.get(key)
  if (known !== undefined) return known
  const calls = (job.calls.get(communicator) ?? 0) + 1
  job.calls.set(communicator, calls)
  const needs = calls > MAX_CALLS ? UNKNOWN : findMembers(own, communicator, number, job)
  job.collectives.set(key, needs)
  return needs
}

const UNKNOWN: Needs = { processes: [], isMismatch: false, unrecorded: 0, isUnknown: true }

/** Returns the members of a communicator that have not begun a collective call. */
function findMembers(
  { process, thread }: WaitingProcess,
  communicator: string,
  number: number,
  job: WaitingJob,
): Needs {
  const members = job.members.get(communicator) ?? []
  const size = process.begun.get(communicator)?.size ?? members.length
  const late = members.filter((one) => {
    const begun = one.begun.get(communicator)?.begun ?? 0
    // MPI_Finalize is the last collective call of a process, instead of the one that is open.
    const isOver = one.state === 'finalized' && thread.call !== 'MPI_Finalize'
    return begun < number || (isOver && begun === number)
  })
  const functions = [...(job.functions.get(`${communicator} ${number}`) ?? [])]
  // The members that belong to other jobs are not known.
  const isKnown = !communicator.startsWith('jobs-')
  return {
    processes: late,
    isMismatch: functions.some((name) => name !== nameOf(thread.call)),
    unrecorded: isKnown ? Math.max(size - members.length, 0) : 0,
    isUnknown: false,
  }
}

/** Returns the name of a function, without the suffix of its form for large counts. */
function nameOf(call: string): string {
  return call.replace(/_c$/, '')
}

/** Reports whether the peer is in a call that completes the call of a process. */
function isMatching(
  { process, thread }: WaitingProcess,
  peer: JobProcess,
  job: WaitingJob,
): boolean {
  const own = job.waiting.get(peer)
  if (own === undefined) return false
  const transfers = job.transfers.get(own) ?? transfersIn(own)
  job.transfers.set(own, transfers)
  return [null, process.rank].some((rank) => {
    const found = transfers.get(rank)
    // Two different transfers: one of them is another one than that of the process.
    return (
      found !== undefined &&
      (found.size > 1 || !found.has(thread.transfer ?? '') || found.has('both'))
    )
  })
}

/** Returns the transfers for which a process waits, by peer. */
function transfersIn({ threads }: WaitingProcess): Transfers {
  const found = new Map<number | null, Set<string>>()
  for (const { peer, transfer } of threads) {
    if (transfer === null) continue
    found.set(peer, (found.get(peer) ?? new Set()).add(transfer))
  }
  return found
}

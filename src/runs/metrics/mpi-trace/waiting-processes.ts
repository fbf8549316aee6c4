import { maximum } from '../../../lib/statistics.ts'
import { wasBefore } from '../../log/clock.ts'
import { type AbsentActivity, activityOf, MIN_SAMPLES } from '../../waiting/absent-activity.ts'
import {
  argumentsIn,
  type CallDifference,
  type CollectiveArguments,
  type CollectiveCall,
  collectiveOf,
  differenceIn,
  keyOf,
} from './collective-arguments.ts'
import type { JobProcess } from './mpi-job.ts'
import type { OpenCalls, OpenThread, WaitingThread } from './open-calls.ts'

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
  /** The arguments of the collective calls in which processes wait, by `keyOf`. */
  readonly arguments: ReadonlyMap<string, CollectiveArguments>
  /** The point-to-point calls in which each process waits. */
  readonly transfers: Map<WaitingProcess, Transfers>
  /** The seconds for which processes have waited together, as `findStalled` has looked them up. */
  readonly together: Map<string, number | undefined>
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
  /** What differs between its collective call and that of another member; null if nothing does. */
  readonly difference: CallDifference | null
  /** The number of members of the communicator that are not recorded. */
  readonly unrecorded: number
  /** Whether the call does not say for which process it waits. */
  readonly isUnknown: boolean
}

/** The calls that return only when other processes have made theirs. */
const WAITS = /^MPI_(Wait|Probe|Mprobe|Finalize)/

/**
 * The calls on windows that return, or may return, only when members of the window have made
 * theirs (MPI 4.0, 12.3 to 12.5). Which processes are members is not recorded.
 */
const ON_WINDOW = new RegExp(
  '^MPI_(Win_(fence|wait|start|complete|free|(un)?lock(_all)?|flush(_local)?(_all)?)|' +
    'Put|Get|Accumulate|Get_accumulate|Fetch_and_op|Compare_and_swap|' +
    'Rput|Rget|Raccumulate|Rget_accumulate)(_c)?$',
)

/** Reports whether a thread waits for members of a window. */
export function isOnWindow({ call }: WaitingThread): boolean {
  return ON_WINDOW.test(call)
}

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
    arguments: argumentsIn(
      [...waiting].map(([process, { threads }]) => [process, threads]),
      (process, name) => communicatorsOf(process).has(name),
    ),
    collectives: new Map(),
    calls: new Map(),
    transfers: new Map(),
    together: new Map(),
  }
  const chosen = [...waiting].map(([process, own]) => [process, withThread(own, job)] as const)
  return { ...job, waiting: new Map(chosen) }
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
  if (activityOf(open).is === 'stopped') return undefined
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
  const own = { ...thread, call }
  const mayWait = number !== null || transfer !== null || WAITS.test(call) || isOnWindow(own)
  return mayWait ? [own] : []
}

/** Chooses the thread that waits for another process: a thread that serves others may wait too. */
function withThread(own: WaitingProcess, job: WaitingJob): WaitingProcess {
  const needsOthers = (thread: WaitingThread) => {
    const { processes, difference, unrecorded } = findNeeds({ ...own, thread }, job)
    return processes.length > 0 || difference !== null || unrecorded > 0
  }
  const thread = own.threads.find(needsOthers) ?? own.thread
  return { ...own, thread, waited: own.open.elapsed - thread.since }
}

/** Returns what a process waits for in its call. */
export function findNeeds(own: WaitingProcess, job: WaitingJob): Needs {
  const { transfer, peer } = own.thread
  const call = collectiveOf(own.thread)
  if (call !== undefined) return membersOf(own, call, job)
  const isUnknown = transfer === null || peer === null
  const other = isUnknown ? undefined : job.ranks.get(peer)
  const isServed = other === undefined || other === own.process || isMatching(own, other, job)
  return {
    processes: isServed ? [] : [other],
    difference: null,
    unrecorded: !isUnknown && other === undefined ? 1 : 0,
    isUnknown,
  }
}

function membersOf(own: WaitingProcess, call: CollectiveCall, job: WaitingJob): Needs {
  const key = `${keyOf(call)} ${own.thread.call}`
  const known = job.collectives.get(key)
  if (known !== undefined) return known
  const calls = (job.calls.get(call.communicator) ?? 0) + 1
  job.calls.set(call.communicator, calls)
  const needs = calls > MAX_CALLS ? UNKNOWN : findMembers(own, call, job)
  job.collectives.set(key, needs)
  return needs
}

const UNKNOWN: Needs = { processes: [], difference: null, unrecorded: 0, isUnknown: true }

/** Returns the members of a communicator that have not begun a collective call, or end in it. */
function findMembers(
  { process, thread }: WaitingProcess,
  call: CollectiveCall,
  job: WaitingJob,
): Needs {
  const { communicator, number } = call
  const members = job.members.get(communicator) ?? []
  const size = process.begun.get(communicator)?.size ?? members.length
  const late = members.filter((one) => {
    const begun = one.begun.get(communicator)?.begun ?? 0
    // MPI_Finalize is the last collective call of a process, instead of the one that is open.
    const isOver = one.state === 'finalized' && thread.call !== 'MPI_Finalize'
    return begun < number || (isOver && begun === number) || isHalted(one, call, job)
  })
  const passed = job.arguments.get(keyOf(call))
  // The members that belong to other jobs are not known.
  const isKnown = !communicator.startsWith('jobs-')
  return {
    processes: late,
    difference: passed === undefined ? null : differenceIn(passed),
    unrecorded: isKnown ? Math.max(size - members.length, 0) : 0,
    isUnknown: false,
  }
}

/** Reports whether a process was stopped, or has ended, in a collective call. */
function isHalted(process: JobProcess, call: CollectiveCall, { latest }: WaitingJob): boolean {
  const { open } = process
  const isOver = activityOf(open).is === 'stopped' || endedBefore(process, latest) !== undefined
  return isOver && isInCall(process, call)
}

/** Reports whether a process was last seen in a collective call. */
export function isInCall({ open }: JobProcess, call: CollectiveCall): boolean {
  return waitingThreads(open).some((thread) => {
    const own = collectiveOf(thread)
    return own !== undefined && keyOf(own) === keyOf(call)
  })
}

/** Returns how a process ended, if that was before another one was last seen in MPI. */
export function endedBefore(
  { state, endedAt }: JobProcess,
  latest: number,
): (AbsentActivity & { is: 'ended' }) | undefined {
  if (state === null || state === 'running' || (endedAt ?? 0) > latest) return undefined
  return { is: 'ended', state }
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

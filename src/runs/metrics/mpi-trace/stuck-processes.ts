import { maximum } from '../../../lib/statistics.ts'
import { wasBefore } from '../../log/clock.ts'
import { type AbsentActivity, activityOf } from '../../waiting/absent-activity.ts'
import { type CollectiveCall, collectiveOf } from './collective-arguments.ts'
import { type JobProcess, lastProcesses, type MpiJob } from './mpi-job.ts'
import { findStalled, type StalledCalls } from './stalled-calls.ts'
import {
  endedBefore,
  findNeeds,
  findWaiting,
  isInCall,
  isOnWindow,
  type Needs,
  type WaitingJob,
  type WaitingProcess,
} from './waiting-processes.ts'

/** A process that others wait for, and that waits for no other process that is known. */
export interface AbsentProcess {
  readonly process: JobProcess
  readonly activity: AbsentActivity
  /** The call of MPI in which it is, such as one that writes a file; null if it is in none. */
  readonly call: string | null
  /** The line of Python in which its main thread is; null if it is not known. */
  readonly line: string | null
  /** The seconds since it was last seen to enter or leave a call; 0 if it has ended. */
  readonly away: number
  /** The seconds for which it was not seen to use a processor. */
  readonly quiet: number
  /** Whether it has begun a collective call. */
  readonly hasBegun: boolean
  /** Whether it is in the same collective call as a process that waits. */
  readonly isInCall: boolean
}

/** Processes that wait, and why none of them can go on. */
export interface StuckProcesses {
  /**
   * - `late`: a process has not come to the call in which they wait.
   * - `deadlock`: they wait for each other.
   * - `mismatch`: members of a communicator are in different collective calls.
   * - `roots`: members of a communicator are in the same collective call with different roots.
   * - `unrecorded`: they wait for a process that is not recorded.
   * - `stalled`: no process leaves its call, and the rows do not show why.
   */
  readonly why: 'late' | 'deadlock' | 'mismatch' | 'roots' | 'unrecorded' | 'stalled'
  /** The collective call of which the roots differ. */
  readonly call?: CollectiveCall
  /** The calls that no process leaves. */
  readonly stalled?: StalledCalls
  /** The processes that wait, in the order of their ranks. There is at least one. */
  readonly waiting: readonly WaitingProcess[]
  /** The processes for which they wait; empty if they wait for each other. */
  readonly late: readonly AbsentProcess[]
  /** The number of members of their communicators that are not recorded. */
  readonly unrecorded: number
  /** The longest time between two collective calls of any process of the job, in seconds. */
  readonly longestGap: number
  /** The longest time for which a process was seen in a call that has ended, in seconds. */
  readonly longestCall: number
}

/**
 * Finds the processes of a job that wait for each other, or for a process that does not come. Those
 * that were in the same call of MPI at two timepoints wait.
 *
 * All members of a communicator make its collective calls in the same order, so a member that has
 * begun fewer of them than the number of the open call is late. In point-to-point calls, the peer
 * is late, unless it is in the matching call. A late process that waits itself leads to the process
 * for which it waits. STAT and PyTorch's Flight Recorder find the late rank in the same way.
 */
export function findStuckProcesses(mpiJob: MpiJob): readonly StuckProcesses[] {
  const processes = lastProcesses(mpiJob)
  if (processes.length === 0) return []
  const job: Search = {
    ...findWaiting(processes),
    needs: new Map(),
    roots: new Map(),
    longestGap: maximum(processes.map(({ open }) => open?.longestGap ?? 0)) ?? 0,
    longestCall: maximum(processes.map(({ open }) => open?.longestCall ?? 0)) ?? 0,
    left: MAX_STEPS * processes.length,
  }
  const roots = [...job.waiting.values()].map((one) => ({ one, root: rootOf(one, job) }))
  const different = new Set(roots.map(({ root }) => root))
  const keys = new Map([...different].map((root) => [root, rootKey(root)]))
  const groups = Map.groupBy(roots, ({ root }) => keys.get(root))
  const isExplained = [...different].some((root) => root !== undefined && !isOfJob(root))
  return [...groups.values()].flatMap((own) => {
    const root = own[0]?.root
    return root === undefined || (isExplained && isOfJob(root))
      ? []
      : [
          describe(
            root,
            own.map(({ one }) => one),
            job,
          ),
        ]
  })
}

/** A job, with the needs of its processes that were looked up. */
interface Search extends WaitingJob {
  readonly needs: Map<WaitingProcess, Needs>
  /** Why the processes with these needs cannot go on. */
  readonly roots: Map<Needs, Root | undefined>
  readonly longestGap: number
  readonly longestCall: number
  /** The number of waits that may still be followed. */
  left: number
}

/**
 * The number of waits that are followed for each process of a job. The processes that wait for the
 * same ones are followed once, so a job has few; rows that were invented can have one for each pair
 * of processes. Of the processes that are left then, it is not known why they wait.
 */
const MAX_STEPS = 256

function needsOf(own: WaitingProcess, job: Search): Needs {
  const needs = job.needs.get(own) ?? findNeeds(own, job)
  job.needs.set(own, needs)
  return needs
}

/** Why a process cannot go on. */
type Root =
  | { readonly why: 'late'; readonly late: readonly JobProcess[] }
  /** The ranks that wait for each other. */
  | { readonly why: 'deadlock'; readonly cycle: readonly number[] }
  | { readonly why: 'mismatch' | 'roots'; readonly call: CollectiveCall }
  | { readonly why: 'unrecorded' }
  | { readonly why: 'stalled'; readonly stalled: StalledCalls }

/** Reports whether all that is known is that no process of the job leaves its call. */
function isOfJob(root: Root): boolean {
  return root.why === 'stalled' && root.stalled.call === null
}

/** Returns a text that is the same for all processes with the same reason. */
function rootKey(root: Root | undefined): string {
  if (root === undefined) return ''
  return JSON.stringify(root.why === 'late' ? root.late.map(({ rank }) => rank) : root)
}

/**
 * Returns why a process cannot go on; undefined if the rows do not show that. A job can have
 * thousands of processes, so what is found for one process is used for all that have the same
 * needs, and for those that wait only for it.
 */
function rootOf(start: WaitingProcess, job: Search): Root | undefined {
  const passed = new Set<Needs>()
  let at = start
  for (;;) {
    const needs = needsOf(at, job)
    if (job.roots.has(needs) || passed.has(needs)) break
    passed.add(needs)
    const next = onlyNeed(needs, job)
    if (next === undefined) break
    at = next
  }
  const needs = needsOf(at, job)
  const root = job.roots.has(needs) ? job.roots.get(needs) : findRoot(at, job)
  for (const one of [...passed, needs]) job.roots.set(one, root)
  return root
}

/** Returns the only process that is needed, if it waits for other processes itself. */
function onlyNeed({ processes, difference, unrecorded }: Needs, job: Search) {
  const [only] = processes
  if (only === undefined || processes.length > 1) return undefined
  if (difference !== null || unrecorded > 0) return undefined
  const own = job.waiting.get(only)
  return own !== undefined && needsOf(own, job).processes.length > 0 ? own : undefined
}

/** Follows the waits of a process to those that do not wait. */
function findRoot(start: WaitingProcess, job: Search): Root | undefined {
  if (job.left <= 0) return undefined
  const reached = followWaits(start.process, job)
  const different = reached.flatMap(differenceOf)[0]
  if (different !== undefined) return different
  const late = reached.filter((one) => isLate(one, start, job)).map(({ process }) => process)
  if (late.length > 0) {
    late.sort((a, b) => a.rank - b.rank)
    return { why: 'late', late }
  }
  const cycle = findCycle(start.process, job)
  if (cycle !== undefined) return { why: 'deadlock', cycle }
  if (reached.some(({ needs }) => (needs?.unrecorded ?? 0) > 0)) return { why: 'unrecorded' }
  const waiting = reached.flatMap(({ own }) => own ?? [])
  const stalled = findStalled(waiting, job)
  return stalled && { why: 'stalled', stalled }
}

/** Returns what differs between the call of a process and that of another member. */
function differenceOf({ own, needs }: Reached): readonly Root[] {
  const call = own && collectiveOf(own.thread)
  const difference = needs?.difference ?? null
  if (call === undefined || difference === null) return []
  return [{ why: difference === 'root' ? 'roots' : 'mismatch', call }]
}

/**
 * Reports whether a process is late for which another one waits. One that waits itself, but for
 * unknown processes, may go on when any other one comes; so it is late only if all of them wait.
 * One that waits for the members of a window is no more late than they are.
 */
function isLate({ process, own, needs }: Reached, start: WaitingProcess, job: Search): boolean {
  if (own === undefined) return true
  if (isOnWindow(own.thread)) return false
  const doAllWait = job.waiting.size === job.processes.length && job.waiting.size === process.size
  return doAllWait && process !== start.process && needs?.isUnknown === true
}

/** A process that others wait for. If `own` is missing, it does not wait. */
interface Reached {
  readonly process: JobProcess
  readonly own?: WaitingProcess
  readonly needs?: Needs
}

/** Returns a process, and all processes for which it waits, also by way of others. */
function followWaits(start: JobProcess, job: Search): readonly Reached[] {
  const reached = new Map<JobProcess, Reached>()
  const next = [start]
  for (let process = next.pop(); process !== undefined; process = next.pop()) {
    job.left -= 1
    if (reached.has(process)) continue
    const own = job.waiting.get(process)
    const needs = own && needsOf(own, job)
    reached.set(process, { process, ...(own && { own }), ...(needs && { needs }) })
    next.push(...(needs?.processes ?? []))
  }
  return [...reached.values()]
}

/**
 * Returns the ranks of processes that wait for each other, to which the waits of a process lead;
 * undefined if there are none.
 */
function findCycle(process: JobProcess, job: Search): readonly number[] | undefined {
  const path = new Set<JobProcess>()
  let at: JobProcess | undefined = process
  while (at !== undefined && !path.has(at)) {
    path.add(at)
    const own = job.waiting.get(at)
    at = own === undefined ? undefined : needsOf(own, job).processes[0]
  }
  if (at === undefined) return undefined
  const all = [...path]
  const cycle = all.slice(all.indexOf(at)).map(({ rank }) => rank)
  return cycle.sort((a, b) => a - b)
}

function describe(root: Root, waiting: readonly WaitingProcess[], job: Search): StuckProcesses {
  const cycle = root.why === 'deadlock' ? new Set(root.cycle) : undefined
  // Others may wait for the processes of the cycle.
  const own = waiting.filter(({ process }) => cycle?.has(process.rank) !== false)
  const missing = waiting.map((one) => needsOf(one, job).unrecorded)
  return {
    why: root.why,
    waiting: own.length === 0 ? waiting : own,
    ...('call' in root && { call: root.call }),
    ...('stalled' in root && { stalled: root.stalled }),
    late: (root.why === 'late' ? root.late : []).map((process) => {
      return absentProcess(process, job, waiting)
    }),
    unrecorded: maximum(missing) ?? 0,
    longestGap: job.longestGap,
    longestCall: job.longestCall,
  }
}

/** @param others the processes that wait for it */
function absentProcess(
  process: JobProcess,
  { latest, waiting }: Search,
  others: readonly WaitingProcess[],
): AbsentProcess {
  const { open, begun } = process
  const hasBegun = [...begun.values()].some((one) => one.begun > 0)
  const isWithOthers = others.some(({ thread }) => {
    const call = collectiveOf(thread)
    return call !== undefined && isInCall(process, call)
  })
  const facts = { process, quiet: open?.quiet ?? 0, hasBegun, isInCall: isWithOthers }
  const ended = endedBefore(process, latest)
  if (ended !== undefined) return { ...facts, activity: ended, call: null, line: null, away: 0 }
  const own = waiting.get(process)
  const thread = own?.thread ?? open?.threads[0]
  const away = open === null || thread === undefined ? 0 : open.elapsed - thread.since
  const activity = own === undefined ? activityOf(open) : ({ is: 'waiting' } as const)
  return { ...facts, activity, call: thread?.call ?? null, line: lineOf(process, latest), away }
}

/** Returns the line of Python in which a process is, unless its row is old. */
function lineOf({ python }: JobProcess, latest: number): string | null {
  const isKnown = python !== undefined && !wasBefore(python.at, python.interval, latest)
  return isKnown ? python.line : null
}

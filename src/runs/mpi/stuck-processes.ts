import type { JobProcess, MpiJob } from './mpi-job.ts'
import type { OpenCalls, OpenThread } from './open-calls.ts'

/** A process that waits in a call of MPI. */
export interface WaitingProcess {
  readonly process: JobProcess
  readonly open: OpenCalls
  readonly thread: OpenThread & { readonly call: string }
  /** The seconds since the call began. */
  readonly waited: number
}

/** What a process does for which others wait. */
export type AbsentActivity =
  | { readonly is: 'ended'; readonly state: string }
  | { readonly is: 'stopped' | 'sleeping' | 'storage' | 'computing' }

/** A process that others wait for, and that waits for no other process. */
export interface AbsentProcess {
  readonly process: JobProcess
  readonly activity: AbsentActivity
  /** The call of MPI in which it is, such as one that writes a file; null if it is in none. */
  readonly call: string | null
  /** The seconds since it was last seen to enter or leave a call; 0 if it has ended. */
  readonly away: number
}

/** Processes that wait, and why none of them can go on. */
export interface StuckProcesses {
  /**
   * - `late`: a process has not come to the call in which they wait.
   * - `deadlock`: they wait for each other.
   * - `mismatch`: members of a communicator are in different collective calls.
   * - `unrecorded`: they wait for a process that is not recorded.
   */
  readonly why: 'late' | 'deadlock' | 'mismatch' | 'unrecorded'
  /** The processes that wait, in the order of their ranks. There is at least one. */
  readonly waiting: readonly WaitingProcess[]
  /** The processes for which they wait; empty if they wait for each other. */
  readonly late: readonly AbsentProcess[]
  /** The number of members of their communicators that are not recorded. */
  readonly unrecorded: number
  /** The longest time between two collective calls of any process of the job, in seconds. */
  readonly longestGap: number
}

/**
 * The fewest processors that a process uses if it computes. A process whose threads poll for events
 * uses less; one in a container with a low limit may not use more.
 */
export const LEAST_COMPUTING = 0.1
/** The fewest timepoints at which a process must be in the same call or state. */
export const LEAST_SAMPLES = 2

/**
 * Finds the processes of a job that wait for each other, or for a process that does not come. Those
 * that were in the same call of MPI at two timepoints wait.
 *
 * All members of a communicator make its collective calls in the same order, so a member that has
 * begun fewer of them than the number of the open call is late. In point-to-point calls, the peer
 * is late, unless it is in the matching call. A late process that waits itself leads to the process
 * for which it waits. STAT and PyTorch's Flight Recorder find the late rank in the same way.
 */
export function findStuckProcesses({ processes }: MpiJob): readonly StuckProcesses[] {
  const ranks = new Set(processes.map(({ rank }) => rank))
  if (ranks.size < processes.length) return []
  const latest = Math.max(...processes.map(({ open }) => open?.at ?? 0))
  const waiting = new Map(
    processes.flatMap((process) => {
      const own = waitingIn(process, latest)
      return own === undefined ? [] : [[process, own] as const]
    }),
  )
  const job: Job = { processes, waiting, latest }
  const roots = [...waiting.values()].map((one) => ({ one, root: findRoot(one, job) }))
  const groups = Map.groupBy(roots, ({ root }) => root?.key ?? '')
  return [...groups].flatMap(([key, own]) => {
    const root = own[0]?.root
    return key === '' || root === undefined
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

/** The processes of a job, and those that wait. */
interface Job {
  readonly processes: readonly JobProcess[]
  readonly waiting: ReadonlyMap<JobProcess, WaitingProcess>
  /** When a process of the job was last seen in MPI, in seconds since 1970. */
  readonly latest: number
}

/** The calls that return only when other processes have made theirs. */
const WAITS = /^MPI_(Wait|Probe|Mprobe|Finalize)/

/** Returns the call in which a process waits; undefined if it does not wait, or moves. */
function waitingIn(process: JobProcess, latest: number): WaitingProcess | undefined {
  const { open, state } = process
  if (open === null || (state !== 'running' && state !== 'lost')) return undefined
  if (wasBefore(open.at, open.interval, latest)) return undefined
  const thread = waitingThread(open)
  if (thread === undefined) return undefined
  return { process, open, thread, waited: open.elapsed - thread.since }
}

/** Returns the thread that waits longest, unless another thread moves. */
function waitingThread({ threads }: OpenCalls): WaitingProcess['thread'] | undefined {
  const [thread] = threads
  const call = thread?.call ?? null
  if (thread === undefined || call === null) return undefined
  if (threads.some(({ samples }) => samples < LEAST_SAMPLES)) return undefined
  const canWait = thread.number !== null || thread.transfer !== null || WAITS.test(call)
  return canWait ? { ...thread, call } : undefined
}

/**
 * Reports whether a time is at least two intervals before another one. The clocks of nodes and the
 * timepoints of observers differ by up to an interval.
 */
function wasBefore(at: number | null, interval: number | null, latest: number): boolean {
  return at !== null && latest - at > 2 * (interval ?? 0) + 1
}

/** Why a process cannot go on; `key` is the same for all processes with the same reason. */
interface Root {
  readonly why: StuckProcesses['why']
  readonly key: string
  readonly late: readonly JobProcess[]
}

/** What a process waits for. */
interface Needs {
  readonly processes: readonly JobProcess[]
  /** Whether it is in another collective call than a member of its communicator. */
  readonly isMismatch: boolean
  /** The number of members of the communicator that are not recorded. */
  readonly unrecorded: number
}

/** Returns why a process cannot go on; undefined if the rows do not show that. */
function findRoot(start: WaitingProcess, job: Job): Root | undefined {
  const reached = followWaits(start.process, job)
  const mismatch = reached.find(({ needs }) => needs?.isMismatch === true)?.own
  if (mismatch !== undefined) {
    const { communicator, number } = mismatch.thread
    return { why: 'mismatch', key: `${communicator} ${number}`, late: [] }
  }
  const late = reached.flatMap(({ process, own }) => (own === undefined ? process : []))
  if (late.length > 0) {
    late.sort((a, b) => a.rank - b.rank)
    return { why: 'late', key: `late ${late.map(({ rank }) => rank)}`, late }
  }
  const cycle = findCycle(start.process, job)
  if (cycle !== undefined) return { why: 'deadlock', key: `cycle ${cycle.join(' ')}`, late }
  const isUnrecorded = reached.some(({ needs }) => (needs?.unrecorded ?? 0) > 0)
  return isUnrecorded ? { why: 'unrecorded', key: 'unrecorded', late } : undefined
}

/** A process that others wait for. If `own` is missing, it waits for no other process. */
interface Reached {
  readonly process: JobProcess
  readonly own?: WaitingProcess
  readonly needs?: Needs
}

/** Returns a process, and all processes for which it waits, also by way of others. */
function followWaits(start: JobProcess, job: Job): readonly Reached[] {
  const reached = new Map<JobProcess, Reached>()
  const next = [start]
  for (let process = next.pop(); process !== undefined; process = next.pop()) {
    if (reached.has(process)) continue
    const own = job.waiting.get(process)
    const needs = own && findNeeds(own, job)
    reached.set(process, { process, ...(own && { own }), ...(needs && { needs }) })
    next.push(...(needs?.processes ?? []))
  }
  return [...reached.values()]
}

/**
 * Returns the ranks of processes that wait for each other, to which the waits of a process lead;
 * undefined if there are none.
 */
function findCycle(process: JobProcess, job: Job): readonly number[] | undefined {
  const path: JobProcess[] = []
  let at: JobProcess | undefined = process
  while (at !== undefined && !path.includes(at)) {
    path.push(at)
    const own = job.waiting.get(at)
    at = own === undefined ? undefined : findNeeds(own, job).processes[0]
  }
  if (at === undefined) return undefined
  const cycle = path.slice(path.indexOf(at)).map(({ rank }) => rank)
  return cycle.sort((a, b) => a - b)
}

function findNeeds(own: WaitingProcess, job: Job): Needs {
  const { number, communicator, transfer, peer } = own.thread
  if (number !== null && communicator !== null) return findMembers(own, communicator, number, job)
  const other = transfer === null ? undefined : job.processes.find(({ rank }) => rank === peer)
  const isMissing = transfer !== null && peer !== null && other === undefined
  const isServed = other === undefined || other === own.process || isMatching(own, other, job)
  return {
    processes: isServed ? [] : [other],
    isMismatch: false,
    unrecorded: isMissing ? 1 : 0,
  }
}

/** Returns the members of a communicator that have not begun a collective call. */
function findMembers(
  { process, thread }: WaitingProcess,
  communicator: string,
  number: number,
  { processes, waiting }: Job,
): Needs {
  // A process that was killed before the observer has seen it is a member of MPI_COMM_WORLD, too.
  const members = processes.filter(({ begun, state }) => {
    return begun.has(communicator) || (communicator === 'world' && state === 'lost')
  })
  const size = process.begun.get(communicator)?.size ?? members.length
  const late = members.filter((one) => {
    const begun = one.begun.get(communicator)?.begun ?? 0
    // MPI_Finalize is the last collective call of a process, instead of the one that is open.
    const isOver = one.state === 'finalized' && thread.call !== 'MPI_Finalize'
    return begun < number || (isOver && begun === number)
  })
  const isMismatch = members.some((one) => {
    const other = waiting.get(one)?.thread
    const isSame = other?.communicator === communicator && other.number === number
    return isSame && nameOf(other.call) !== nameOf(thread.call)
  })
  // The members that belong to other jobs are not known.
  const isKnown = !communicator.startsWith('jobs-')
  return {
    processes: late.filter((one) => one !== process),
    isMismatch,
    unrecorded: isKnown ? Math.max(size - members.length, 0) : 0,
  }
}

/** Returns the name of a function, without the suffix of its form for large counts. */
function nameOf(call: string): string {
  return call.replace(/_c$/, '')
}

/** Reports whether the peer is in a call that completes the call of a process. */
function isMatching({ process, thread }: WaitingProcess, peer: JobProcess, { waiting }: Job) {
  const other = waiting.get(peer)?.thread
  if (other === undefined || other.transfer === null) return false
  const isToThis = other.peer === null || other.peer === process.rank
  return isToThis && (other.transfer === 'both' || other.transfer !== thread.transfer)
}

function describe(
  { why, late, key }: Root,
  waiting: readonly WaitingProcess[],
  job: Job,
): StuckProcesses {
  const gaps = job.processes.map(({ open }) => open?.longestGap ?? 0)
  const cycle = key.split(' ').slice(1).map(Number)
  // Others may wait for the processes of the cycle.
  const own = waiting.filter(({ process }) => why !== 'deadlock' || cycle.includes(process.rank))
  const missing = waiting.map((one) => findNeeds(one, job).unrecorded)
  return {
    why,
    waiting: own.length === 0 ? waiting : own,
    late: late.map((process) => absentProcess(process, job)),
    unrecorded: Math.max(...missing),
    longestGap: Math.max(...gaps),
  }
}

function absentProcess(process: JobProcess, { latest }: Job): AbsentProcess {
  const { open, state, endedAt } = process
  const hasEnded = state !== null && state !== 'running'
  const endedBefore = hasEnded && (endedAt ?? 0) <= latest
  if (endedBefore) return { process, activity: { is: 'ended', state }, call: null, away: 0 }
  const [thread] = open?.threads ?? []
  const away = open === null || thread === undefined ? 0 : open.elapsed - thread.since
  return { process, activity: activityOf(open), call: thread?.call ?? null, away }
}

function activityOf(open: OpenCalls | null): AbsentActivity {
  const { state, stateSamples = 0, cpu } = open ?? {}
  if (state === 'stopped' && stateSamples >= LEAST_SAMPLES) return { is: 'stopped' }
  if (state === 'disk') return { is: 'storage' }
  return { is: (cpu ?? 0) >= LEAST_COMPUTING || state === 'running' ? 'computing' : 'sleeping' }
}

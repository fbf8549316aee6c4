import { WAITING_FOR_ALL } from './call-kinds.ts'
import type { JobProcess, MpiJob } from './mpi-job.ts'
import type { CallBlock, Communicator, MpiCall } from './mpi-run.ts'

/** The time for which a process waited for another one in calls that wait for all members. */
export interface CollectiveWait {
  readonly waiting: JobProcess
  /** The process that came last. */
  readonly late: JobProcess
  readonly seconds: number
  /** The communicator in which the process waited most. */
  readonly communicator: string
}

/** The waits for one process, of all other members of the communicators in which it came last. */
export interface LateProcess {
  readonly late: JobProcess
  readonly waits: readonly CollectiveWait[]
}

/**
 * Finds for which processes the others waited in the calls that wait for all members of a
 * communicator. Skips communicators whose members cannot be compared; see `findIncomparable`. The
 * members of a communicator may belong to several of the jobs.
 *
 * All members make these calls in the same order, so a block with the same calls can be compared
 * without a common clock. In a block, the member with the least time came last. The others waited
 * for it at least for the time that they spent beyond the least time: if several members came last
 * in turn within a block, they waited longer. Scalasca calls these waits "Wait at Barrier" and
 * "Wait at N x N".
 *
 * @param leastPart communicators in whose calls no member spent this part of its time since
 * MPI_Init are skipped
 */
export function findCollectiveWaits(
  jobs: readonly MpiJob[],
  leastPart: number,
): readonly LateProcess[] {
  const found = new Map<JobProcess, Map<JobProcess, Growing>>()
  for (const [name, members] of longCommunicators(jobs, leastPart))
    if (whyIncomparable(name, members) === null) addWaits(found, name, members)
  return [...found].map(([late, waits]) => ({
    late,
    waits: [...waits].map(([waiting, { seconds, communicator }]) => {
      return { waiting, late, seconds, communicator }
    }),
  }))
}

/** Returns why communicators were not compared, by process. */
export function findIncomparable(
  jobs: readonly MpiJob[],
  leastPart: number,
): ReadonlyMap<JobProcess, string> {
  const found = longCommunicators(jobs, leastPart).flatMap(([name, members]) => {
    const reason = whyIncomparable(name, members)
    return reason === null ? [] : members.map(({ process }) => [process, reason] as const)
  })
  return new Map(found)
}

function longCommunicators(jobs: readonly MpiJob[], leastPart: number) {
  const all = jobs.flatMap(({ processes }) => processes)
  const ofOneJob = jobs.flatMap(({ processes }) => [...membersOf(processes)])
  return [
    ...ofOneJob.filter(([name]) => !connectsJobs(name)),
    ...[...membersOf(all)].filter(([name]) => connectsJobs(name)),
  ].filter(([, members]) => isLong(members, leastPart))
}

/** Reports whether a communicator has members of several jobs (observer/mpi/recorder.c). */
function connectsJobs(name: string): boolean {
  return name.startsWith('jobs-')
}

/** The waits for a process so far, and the communicator with the longest one. */
interface Growing {
  seconds: number
  most: number
  communicator: string
}

/** A process as a member of a communicator. */
interface Member extends Communicator {
  readonly process: JobProcess
  readonly blocks: readonly CallBlock[]
}

function membersOf(processes: readonly JobProcess[]): ReadonlyMap<string, readonly Member[]> {
  const byName = new Map<string, Member[]>()
  for (const process of processes) {
    const blocks = new Map(
      [...process.blocks].map(([name, own]) => {
        return [name, own.toSorted((a, b) => a.first - b.first)]
      }),
    )
    for (const communicator of process.communicators) {
      const { name } = communicator
      const members = byName.get(name) ?? []
      byName.set(name, members)
      members.push({ ...communicator, process, blocks: blocks.get(name) ?? [] })
    }
  }
  return byName
}

/** Reports whether a member spent at least this part of its time in the calls. */
function isLong(members: readonly Member[], leastPart: number): boolean {
  return members.some(({ process, seconds }) => {
    return seconds > 0 && seconds >= leastPart * process.elapsed
  })
}

/** The states of processes that have recorded all of their calls. */
const WHOLE = ['finalized', 'exited', 'aborted']

/** Returns why the blocks of the members cannot be compared; null if they can. */
function whyIncomparable(name: string, members: readonly Member[]): string | null {
  const [{ size }] = members as [Member]
  const processes = new Set(members.map(({ process }) => process))
  const where = `the communicator ${name}`
  if (members.some((one) => one.size !== size) || processes.size < members.length)
    return `different communicators have the name ${name}`
  if (members.length !== size)
    return `mpi-trace has rows of only ${members.length} of the ${size} members of ${where}`
  if (!members.every(isContinuous)) return `the log has not all blocks of ${where}`
  const ended = members.filter(({ process }) => WHOLE.includes(process.state ?? ''))
  const counts = new Set(ended.map(({ collectives }) => collectives))
  return counts.size > 1 ? `the members of ${where} made different numbers of calls` : null
}

/** Reports whether the log has the blocks of all calls. */
function isContinuous({ blocks, collectives }: Member): boolean {
  let next = 0
  for (const { first, collectives: count } of blocks) {
    if (first !== next) return false
    next += count
  }
  return next === collectives
}

function addWaits(
  found: Map<JobProcess, Map<JobProcess, Growing>>,
  name: string,
  members: readonly Member[],
): void {
  const ends = commonEnds(members)
  const times = members.map(({ blocks }) => timesUntil(blocks, ends))
  for (const at of ends.keys()) {
    const spent = times.map((list) => list[at] ?? 0)
    const least = spent.reduce((low, time) => Math.min(low, time), Number.POSITIVE_INFINITY)
    const late = members[spent.indexOf(least)]?.process
    if (late === undefined) continue
    const waits = found.get(late) ?? new Map<JobProcess, Growing>()
    found.set(late, waits)
    const others = members.map(({ process }, index) => ({ process, time: spent[index] ?? 0 }))
    for (const { process, time } of others.filter((one) => one.process !== late))
      addWait(waits, process, name, time - least)
  }
}

function addWait(
  waits: Map<JobProcess, Growing>,
  waiting: JobProcess,
  communicator: string,
  seconds: number,
): void {
  const wait = waits.get(waiting)
  if (wait === undefined) {
    waits.set(waiting, { seconds, most: seconds, communicator })
    return
  }
  wait.seconds += seconds
  if (seconds <= wait.most) return
  wait.most = seconds
  wait.communicator = communicator
}

/**
 * Returns the numbers of calls after which a block of every member ends. The blocks of a process
 * that was killed may be narrower, and end earlier.
 */
function commonEnds(members: readonly Member[]): readonly number[] {
  const [first, ...others] = members.map(
    ({ blocks }) => new Set(blocks.map((block) => block.first + block.collectives)),
  )
  return [...(first ?? [])].filter((end) => others.every((ends) => ends.has(end)))
}

/** Returns the time of the blocks up to each of these ends, from the end before it. */
function timesUntil(blocks: readonly CallBlock[], ends: readonly number[]): readonly number[] {
  const times = ends.map(() => 0)
  let at = 0
  for (const { first, seconds } of blocks) {
    while (at < ends.length && first >= (ends[at] ?? 0)) at += 1
    if (at < ends.length) times[at] = (times[at] ?? 0) + seconds
  }
  return times
}

/**
 * Returns a function that returns the call that waits for all members with the most time of a wait;
 * null if it is not known. The rows of a process are read once.
 */
export function longestCalls(): (wait: CollectiveWait) => string | null {
  const known = new Map<JobProcess, ReadonlyMap<string, string>>()
  return ({ waiting, communicator }) => {
    const calls = known.get(waiting) ?? callsByCommunicator(waiting)
    known.set(waiting, calls)
    return calls.get(communicator) ?? null
  }
}

function callsByCommunicator({ rows }: JobProcess): ReadonlyMap<string, string> {
  const ofAll = rows.filter(({ call }) => WAITING_FOR_ALL.has(call))
  const groups = Map.groupBy(ofAll, ({ communicator }) => communicator)
  return new Map([...groups].map(([communicator, own]) => [communicator, longestOf(own)]))
}

/** Returns the call with the most time. @param rows at least one */
function longestOf(rows: readonly MpiCall[]): string {
  const times = new Map<string, number>()
  for (const { call, seconds } of rows) times.set(call, (times.get(call) ?? 0) + seconds)
  const [longest] = [...times].sort(([, a], [, b]) => b - a)
  return longest?.[0] ?? ''
}

import type { Sample } from '../../log/columns.ts'
import { countIn, numberIn, secondsSince1970, textIn } from '../../log/typed-cells.ts'

/** The collective calls of all kinds on a communicator that a process has begun. */
export interface BegunCollectives {
  /** The number of members of the communicator. */
  readonly size: number
  readonly begun: number
}

/** What the rows say about a process while it runs. */
export interface ObservedCalls {
  /** The calls in which the process was at the last timepoint; null if there are no such rows. */
  open: OpenCalls | null
  /** When it last began or ended a call that a row shows, in seconds since MPI_Init. */
  active: number
  /** The communicators with the numbers of collective calls that the process has begun, by name. */
  readonly begun: Map<string, BegunCollectives>
}

/** What a process was doing in MPI at a timepoint. All times are in seconds. */
export interface OpenCalls {
  readonly timepoint: number
  /** When it was seen, in seconds since 1970; null if the date is not known. */
  readonly at: number | null
  /** When it was seen, in seconds since the first timepoint of the log. */
  readonly seconds: number
  /** The time since the end of MPI_Init. */
  readonly elapsed: number
  /** The time since the timepoint before; null if this is the first one. */
  readonly interval: number | null
  /** The longest time between two collective calls until now. */
  readonly longestGap: number
  /** The longest time for which a thread was seen in a call that it has left since. */
  readonly longestCall: number
  /** The state of the process: running, sleeping, disk or stopped. */
  readonly state: string | null
  /** The number of consecutive timepoints with this state. */
  readonly stateSamples: number
  /** The number of timepoints at which the process slept, and at which it waited for storage. */
  readonly asleepSamples: number
  readonly storageSamples: number
  /** The processor time of the process since its start; null if it is not known. */
  readonly cpuTime: number | null
  /** The first timepoint of the process. */
  readonly first: Pick<OpenCalls, 'elapsed' | 'cpuTime'>
  /** The processors that the process used since the timepoint before; null if not known. */
  readonly cpu: number | null
  /** The seconds for which the process was not seen to use a processor. */
  readonly quiet: number
  /** The threads that are in calls, or one that is in none. */
  readonly threads: OpenThread[]
  /** The threads at the timepoint before, by their ids and the beginnings of their calls. */
  readonly threadsBefore: ReadonlyMap<string, OpenThread>
}

/** A thread, with the call in which it is. */
export interface OpenThread {
  readonly thread: number | null
  /** The function; null if the thread is in none. */
  readonly call: string | null
  readonly communicator: string | null
  /** The number of the collective call on its communicator; null for other calls. */
  readonly number: number | null
  /** The rank in MPI_COMM_WORLD of the peer or root; null if there is none, or several. */
  readonly peer: number | null
  readonly transfer: string | null
  /** When the call began, or when the last one ended, in seconds since MPI_Init. */
  readonly since: number
  /** The number of timepoints at which the thread was in this call. */
  readonly samples: number
}

/** A thread that waits in a call of MPI. */
export type WaitingThread = OpenThread & { readonly call: string }

/**
 * Adds a row of the section `open`: a thread of a process. The rows of a timepoint replace those
 * before. The rows that a process has after its end only say when its last call began, because it
 * may have been killed in the call in which the rows before show it.
 */
export function addOpenCall(process: ObservedCalls, sample: Sample): void {
  process.active = Math.max(process.active, countIn(sample.since))
  if (sample.process_state === 'ended' && process.open !== null) return
  if (process.open?.timepoint !== sample.timepoint)
    process.open = newTimepoint(process.open, sample)
  const { threads } = process.open
  threads.push(threadIn(sample, process.open))
}

/** The open calls before the first timepoint: nothing was read. */
const NOTHING = {
  cpuTime: null,
  first: null,
  state: null,
  stateSamples: 0,
  asleepSamples: 0,
  storageSamples: 0,
  quiet: 0,
  elapsed: 0,
  interval: null,
  longestCall: 0,
  threads: [],
  threadsBefore: new Map<string, OpenThread>(),
}

function newTimepoint(last: OpenCalls | null, sample: Sample): OpenCalls {
  const elapsed = countIn(sample.elapsed)
  const before = last ?? NOTHING
  const interval = last === null ? null : elapsed - last.elapsed
  const state = textIn(sample.process_state)
  const cpuTime = numberIn(sample.cpu_time)
  const used = differenceOf(cpuTime, before.cpuTime)
  return {
    timepoint: sample.timepoint,
    at: secondsSince1970(sample),
    seconds: sample.seconds,
    elapsed,
    interval,
    longestGap: countIn(sample.longest_gap),
    longestCall: longestCallOf(before),
    state,
    stateSamples: before.state === state ? before.stateSamples + 1 : 1,
    asleepSamples: before.asleepSamples + Number(state === 'sleeping'),
    storageSamples: before.storageSamples + Number(state === 'disk'),
    cpuTime,
    first: before.first ?? { elapsed, cpuTime },
    cpu: used === null || interval === null || interval <= 0 ? null : used / interval,
    quiet: used === 0 ? before.quiet + (interval ?? 0) : 0,
    threads: [],
    threadsBefore: new Map(before.threads.map((one) => [threadKey(one), one])),
  }
}

/**
 * Returns the longest time for which a thread was seen in a call, of the calls that had ended at a
 * timepoint.
 */
function longestCallOf({
  longestCall,
  elapsed,
  interval,
  threads,
  threadsBefore,
}: Pick<OpenCalls, 'longestCall' | 'elapsed' | 'interval' | 'threads' | 'threadsBefore'>): number {
  const open = new Set(threads.map(threadKey))
  const ended = [...threadsBefore].filter(([key, { call }]) => call !== null && !open.has(key))
  const lastSeen = elapsed - (interval ?? 0)
  return ended.reduce((most, [, { since }]) => Math.max(most, lastSeen - since), longestCall)
}

function differenceOf(one: number | null, other: number | null): number | null {
  return one === null || other === null ? null : one - other
}

function threadIn(sample: Sample, { threadsBefore }: OpenCalls): OpenThread {
  const { thread, number, mpi_peer: peer } = sample
  const call = textIn(sample.call)
  const own = numberIn(thread)
  const since = countIn(sample.since)
  const same = threadsBefore.get(threadKey({ thread: own, since }))
  return {
    thread: own,
    call,
    communicator: textIn(sample.communicator),
    number: numberIn(number),
    peer: /^\d+$/.test(String(peer)) ? Number(peer) : null,
    transfer: textIn(sample.transfer),
    since,
    samples: same?.call === call ? same.samples + 1 : 1,
  }
}

function threadKey({ thread, since }: Pick<OpenThread, 'thread' | 'since'>): string {
  return `${thread} ${since}`
}

/** Adds a row of the section `progress`: a communicator of a process. */
export function addProgress({ begun }: ObservedCalls, sample: Sample): void {
  const name = textIn(sample.communicator)
  if (name !== null) begun.set(name, { size: countIn(sample.size), begun: countIn(sample.begun) })
}

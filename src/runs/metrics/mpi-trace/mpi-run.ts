import { ofLogs } from '../../evidence/stores.ts'
import type { ProcessorWaits, RecordedCall } from '../../jobs/recorded-job.ts'
import type { Cell, Sample } from '../../log/columns.ts'
import { countIn, numberIn, secondsSince1970, textIn } from '../../log/typed-cells.ts'
import { addOpenCall, addProgress, type ObservedCalls } from './open-calls.ts'
import { addStarting, removeStarting, type StartingProcesses } from './starting-processes.ts'

/** The metric whose rows describe calls of MPI. */
export const MPI_METRIC = 'mpi-trace'

/** The calls of MPI of all processes of a run. */
export interface MpiRun {
  readonly processes: MpiProcess[]
  /** The processes that have not returned from MPI_Init. */
  readonly starting: StartingProcesses
  /** The process of the last rows of each log and process. */
  readonly running: Map<string, MpiProcess>
  /** The names of calls and communicators, each of them once. */
  readonly names: Map<string, string>
  /** Whether only the end of the logs is read, in which the row of a process may be missing. */
  readonly isTail: boolean
}

/** What a process has recorded until its last rows. All times are in seconds. */
export interface MpiProcess extends ObservedCalls {
  readonly source: string
  program: string | null
  /** The process id; null if the observer has not found the process. */
  readonly pid: number | null
  /** The rank in MPI_COMM_WORLD; null if the MPI library is not known. */
  readonly rank: number | null
  /** The number of processes of MPI_COMM_WORLD. */
  readonly size: number
  readonly library: string | null
  /** The identifier of the job; null if the launcher sets none. */
  readonly job: string | null
  state: string | null
  /** When the process had ended, in seconds since 1970; null if it runs, or if not known. */
  endedAt: number | null
  /** The time since the end of MPI_Init. */
  elapsed: number
  /** The time in calls of MPI, of all threads. */
  seconds: number
  /** How long its threads waited for a processor; null if it was not counted. */
  waits: ProcessorWaits | null
  /**
   * How long its threads neither ran nor waited for a processor outside of MPI; null if it was not
   * counted.
   */
  asleep: number | null
  /**
   * The time that the calls would have taken if all with the same function, communicator and peer
   * had been as fast as the fastest sixteenth of them; null if it is not known.
   */
  fastSeconds: number | null
  calls: number
  bytes: number
  /** The calls of the last rows; while the process runs, only those with the most time. */
  rows: MpiCall[]
  /** The communicators, which are known only at the end of the process. */
  readonly communicators: Communicator[]
  readonly blocks: Map<string, CallBlock[]>
}

/** Calls of one function in one communicator with one peer. */
export interface MpiCall extends RecordedCall {
  readonly communicator: string
  /** The rank in MPI_COMM_WORLD of the peer or root; null if there is none, or several. */
  readonly peer: number | null
}

/** A communicator of a process, with its calls that wait for all members. */
export interface Communicator {
  readonly name: string
  readonly size: number
  readonly collectives: number
  readonly seconds: number
}

/** Consecutive calls that wait for all members of a communicator. */
export interface CallBlock {
  /** The number of the first call. */
  readonly first: number
  readonly collectives: number
  readonly seconds: number
}

/** The most processes. The recorder has at most 128 in a pod; more are not from an observer. */
export const MAX_PROCESSES = 1024

export function sizeOf({ processes, starting }: MpiRun): number {
  return processes.length + starting.size
}

/** Forgets processes that have ended. Those that have replaced each other use up the room. */
export function withoutEnded(run: MpiRun): MpiRun {
  const processes = run.processes.filter(({ state }) => state === 'running')
  const kept = new Set(processes)
  const running = [...run.running].filter(([, process]) => kept.has(process))
  const starting = [...run.starting].filter(([, { endedAt }]) => endedAt === null)
  return { ...run, processes, running: new Map(running), starting: new Map(starting) }
}

/** @param isTail whether only the end of the logs is read */
export function newMpiRun(isTail = false): MpiRun {
  return { processes: [], starting: new Map(), running: new Map(), names: new Map(), isTail }
}

/** Returns the calls of the processes of some of the logs. */
export function keepLogs(run: MpiRun, isKept: (source: string) => boolean): MpiRun {
  return {
    ...run,
    processes: run.processes.filter(({ source }) => isKept(source)),
    starting: ofLogs(run.starting, isKept),
    running: ofLogs(run.running, isKept),
  }
}

/**
 * Adds a row of the metric mpi-trace. The rows of a timepoint replace those before, because all
 * values are sums since MPI_Init. In a log, the row of a process precedes the rows of its calls.
 */
export function addMpiRow(run: MpiRun, section: string, sample: Sample): void {
  if (section === 'start') addStarting(run.starting, sample)
  if (section === 'rank' || section === 'open') removeStarting(run.starting, sample)
  if (section === 'rank') addProcess(run, sample)
  if (section === 'open' && run.isTail) addRunning(run, sample)
  const process = run.running.get(keyOf(sample))
  if (process !== undefined) addDetail(run, process, section, sample)
}

function addDetail(run: MpiRun, process: MpiProcess, section: string, sample: Sample): void {
  switch (section) {
    case 'call':
      addCall(run, process, sample)
      return
    case 'communicator':
      addCommunicator(run, process, sample)
      return
    case 'block':
      addBlock(run, process, sample)
      return
    case 'open':
      addOpenCall(process, sample)
      return
    case 'progress':
      addProgress(process, sample)
      return
    default:
      return
  }
}

/**
 * Leaves a process out whose row is not kept. The rows of its calls do not belong to an earlier
 * process with its id. Does nothing with other rows.
 */
export function leaveOut(run: MpiRun, sample: Sample): void {
  if (sample.section === 'rank') run.running.delete(keyOf(sample))
}

/** Identifies a process by its id, or, if the id is not known, by its rank. */
function keyOf({ source, pid, mpi_rank: rank }: Sample): string {
  return JSON.stringify([source ?? '', pid ?? null, typeof pid === 'number' ? null : rank])
}

function addProcess({ processes, running }: MpiRun, sample: Sample): void {
  const known = running.get(keyOf(sample))
  const isKnown = known !== undefined && isSame(known, sample)
  const process = isKnown ? known : newProcess(sample)
  running.set(keyOf(sample), process)
  if (!isKnown) processes.push(process)
  process.program = textIn(sample.program) ?? process.program
  process.state = textIn(sample.state)
  process.endedAt = process.state === 'running' ? null : secondsSince1970(sample)
  process.elapsed = countIn(sample.elapsed)
  process.seconds = countIn(sample.mpi_seconds)
  process.waits = waitsIn(sample)
  process.asleep = numberIn(sample.asleep_outside)
  process.fastSeconds = numberIn(sample.fast_seconds)
  process.calls = countIn(sample.calls)
  process.bytes = countIn(sample.bytes)
  process.rows = []
}

/** Returns the waits of a process; null if its log is older than their columns. */
function waitsIn({ wait_outside: outside, wait_in_mpi: inMpi }: Sample): ProcessorWaits | null {
  const waits = { outside: numberIn(outside), inMpi: numberIn(inMpi) }
  return waits.outside === null || waits.inMpi === null
    ? null
    : { outside: waits.outside, inMpi: waits.inMpi }
}

/**
 * Adds a process by its open call, if it is not known: a process that waits has no other rows, but
 * for those about its communicators.
 */
function addRunning({ processes, running }: MpiRun, sample: Sample): void {
  if (sample.process_state === 'ended' || running.has(keyOf(sample))) return
  const process = { ...newProcess(sample), program: textIn(sample.program), state: 'running' }
  running.set(keyOf(sample), process)
  processes.push(process)
}

/**
 * Reports whether a row is about a process, and not about a later one with its process id. A
 * process that has called MPI_Finalize has the same row again when it ends.
 */
function isSame({ state, rank, job, elapsed }: MpiProcess, sample: Sample): boolean {
  const now = countIn(sample.elapsed)
  if (state === 'running' ? elapsed > now : elapsed !== now) return false
  return rank === (sample.mpi_rank ?? null) && job === textIn(sample.job)
}

function newProcess(sample: Sample): MpiProcess {
  const { source, pid, mpi_rank: rank, mpi_size: size, mpi_library: library, job } = sample
  return {
    source: source ?? '',
    program: null,
    pid: typeof pid === 'number' ? pid : null,
    rank: typeof rank === 'number' ? rank : null,
    size: countIn(size),
    library: textIn(library),
    job: textIn(job),
    state: null,
    endedAt: null,
    elapsed: 0,
    seconds: 0,
    waits: null,
    asleep: null,
    fastSeconds: null,
    calls: 0,
    bytes: 0,
    rows: [],
    communicators: [],
    blocks: new Map(),
    open: null,
    active: 0,
    begun: new Map(),
  }
}

function addCall(run: MpiRun, { rows }: MpiProcess, sample: Sample): void {
  rows.push({
    call: nameIn(run, sample.call),
    communicator: nameIn(run, sample.communicator),
    peer: /^\d+$/.test(String(sample.mpi_peer)) ? Number(sample.mpi_peer) : null,
    calls: countIn(sample.calls),
    seconds: countIn(sample.mpi_seconds),
    bytes: countIn(sample.bytes),
    longestMs: countIn(sample.max_ms),
  })
}

function addCommunicator(run: MpiRun, { communicators }: MpiProcess, sample: Sample): void {
  communicators.push({
    name: nameIn(run, sample.communicator),
    size: countIn(sample.size),
    collectives: countIn(sample.collectives),
    seconds: countIn(sample.mpi_seconds),
  })
}

function addBlock(run: MpiRun, { blocks }: MpiProcess, sample: Sample): void {
  const name = nameIn(run, sample.communicator)
  const own = blocks.get(name) ?? []
  blocks.set(name, own)
  own.push({
    first: countIn(sample.first),
    collectives: countIn(sample.collectives),
    seconds: countIn(sample.mpi_seconds),
  })
}

/** Returns a name. All equal names are one text, because a run has many rows. */
function nameIn({ names }: MpiRun, cell: Cell | undefined): string {
  const name = textIn(cell) ?? '?'
  const known = names.get(name)
  if (known === undefined) names.set(name, name)
  return known ?? name
}

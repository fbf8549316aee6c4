import type { RowCells, Sample } from '../../log/columns.ts'
import { countIn, numberIn, secondsSince1970, textIn } from '../../log/typed-cells.ts'

/** A process that has not returned from MPI_Init, as its last row shows it. Times in seconds. */
export interface StartingProcess {
  readonly source: string
  readonly program: string | null
  readonly pid: number | null
  /** The rank in MPI_COMM_WORLD; null if the launcher does not name it. */
  readonly rank: number | null
  /** The number of processes of MPI_COMM_WORLD; 0 if it is not known. */
  readonly size: number
  /** The identifier of the job; null if the launcher sets none. */
  readonly job: string | null
  /** MPI_Init or MPI_Init_thread; null if the process has called neither. */
  readonly call: string | null
  readonly timepoint: number
  /** When it was seen, in seconds since 1970; null if the date is not known. */
  readonly at: number | null
  /** When it was seen, in seconds since the first timepoint of the log. */
  readonly seconds: number
  /** The time since the call began, or since the process started. */
  readonly waited: number
  /** The time since the timepoint before; null if this is the first one. */
  readonly interval: number | null
  /** When it had ended, in seconds since 1970; null if it runs, or if not known. */
  readonly endedAt: number | null
  /** The state of the process while it ran: running, sleeping, disk or stopped. */
  readonly state: string | null
  /** The number of consecutive timepoints with this state. */
  readonly stateSamples: number
  readonly cpuTime: number | null
  /** The processors that the process used since the timepoint before; null if not known. */
  readonly cpu: number | null
  /** The number of timepoints at which the process was in this call. */
  readonly samples: number
}

/** The processes that have not returned from MPI_Init, by their ranks or ids. */
export type StartingProcesses = Map<string, StartingProcess>

/**
 * Adds a row of the section `start`, which replaces the row before. After its end, a process keeps
 * its last state, because it may have been killed with those that waited for it.
 */
export function addStarting(starting: StartingProcesses, sample: Sample): void {
  const key = keyOf(sample)
  const known = starting.get(key)
  const isEnd = sample.process_state === 'ended' && known !== undefined
  const endedAt = secondsSince1970(sample)
  starting.set(key, isEnd ? { ...known, endedAt } : startingIn(sample, known))
}

/** Removes the process of a row that says that it has returned from MPI_Init. */
export function removeStarting(starting: StartingProcesses, sample: Sample): void {
  if (starting.size === 0) return
  starting.delete(keyOf(sample))
  starting.delete(keyOf({ ...sample, mpi_rank: null }))
}

/** Identifies a process by its rank, which a shell and its children share, or else by its id. */
function keyOf({ source, mpi_rank: rank, mpi_size: size, job, pid }: RowCells): string {
  const own = typeof rank === 'number' ? [job ?? null, size ?? null, rank] : [pid ?? null]
  return JSON.stringify([source ?? '', ...own])
}

function startingIn(sample: Sample, known: StartingProcess | undefined): StartingProcess {
  const pid = numberIn(sample.pid)
  const call = textIn(sample.call)
  const before = known?.pid === pid && known.call === call ? known : undefined
  const state = textIn(sample.process_state)
  return {
    source: sample.source ?? '',
    program: textIn(sample.program),
    pid,
    rank: numberIn(sample.mpi_rank),
    size: countIn(sample.mpi_size),
    job: textIn(sample.job),
    call,
    timepoint: sample.timepoint,
    at: secondsSince1970(sample),
    seconds: sample.seconds,
    endedAt: state === 'ended' ? secondsSince1970(sample) : null,
    waited: countIn(sample.waited),
    state,
    cpuTime: numberIn(sample.cpu_time),
    ...changeSince(before, sample, state),
  }
}

/** Returns how a process has changed since the row before. */
function changeSince(
  before: StartingProcess | undefined,
  { seconds, cpu_time: cpuTime }: Sample,
  state: string | null,
): Pick<StartingProcess, 'interval' | 'stateSamples' | 'cpu' | 'samples'> {
  if (before === undefined) return { interval: null, stateSamples: 1, cpu: null, samples: 1 }
  const interval = seconds - before.seconds
  const isKnown = typeof cpuTime === 'number' && before.cpuTime !== null && interval > 0
  return {
    interval,
    stateSamples: before.state === state ? before.stateSamples + 1 : 1,
    cpu: isKnown ? (cpuTime - before.cpuTime) / interval : null,
    samples: before.samples + 1,
  }
}

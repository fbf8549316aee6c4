import type { ProcessorWaits, SleepStates } from '../jobs/recorded-job.ts'
import { type Factor, factor, missingFactor, NEVER_IN_STORAGE, WITHOUT_STORAGE } from './factor.ts'

/**
 * The parts of its time in which a process ran, and in which it could run and waited for a
 * processor, from 0 to 1. If a process has several threads, these are the means of the threads that
 * ran or waited.
 */
export interface RunningShares {
  readonly ran: number
  readonly waited: number
  /** The mean number of threads that ran or waited at once, at least 1. */
  readonly threads: number
}

/** The times of a process of MPI, in seconds. */
export interface ProcessTimes {
  readonly pod: string
  /** The time since the end of MPI_Init. */
  readonly elapsed: number
  /** The time in calls of MPI. */
  readonly inMpi: number
  /**
   * The time that these calls would have taken if all with the same function, communicator and peer
   * had been as fast as the fastest of them; null if it is not known.
   */
  readonly fastInMpi: number | null
  /** How long its threads that call MPI waited for a processor; null if mpi-trace did not count. */
  readonly waits: ProcessorWaits | null
  /** Null if no other metric has counted the time of waiting for a processor. */
  readonly shares: RunningShares | null
  /** The time asleep outside of MPI, as mpi-trace has counted it; null if it did not. */
  readonly asleep: number | null
  /** The CPU time of all its threads; null if it is not known. */
  readonly cpu: number | null
  /** The time in which it waited for storage; null if it is not known. */
  readonly storage: number | null
  /** How often it was seen asleep, and waiting for storage; missing if its state was not read. */
  readonly states?: SleepStates | undefined
}

/** The time of a process outside of MPI, and of its time in MPI the waiting for a processor. */
export interface SplitTimes {
  /** The time outside of MPI in which it computed. If `idle` is null, it may have been asleep. */
  readonly computing: number
  /** The time outside of MPI in which it waited for storage; null if it is not known. */
  readonly storage: number | null
  /**
   * The time outside of MPI in which it slept or waited for something else, and if `storage` is
   * null, for storage; null if it is not known.
   */
  readonly idle: number | null
  /** The time outside of MPI in which it waited for a processor. */
  readonly delayed: number
  /** The time in MPI in which it waited for a processor. */
  readonly delayedInMpi: number
}

/** Returns the useful time of a process: outside of MPI, without waiting for a processor. */
function usefulTime({ computing, storage, idle }: SplitTimes): number {
  return computing + (storage ?? 0) + (idle ?? 0)
}

/** The time outside of MPI without waiting for a processor, and the waiting. */
interface Delays extends Pick<SplitTimes, 'delayed' | 'delayedInMpi'> {
  readonly free: number
}

/** What is needed to divide the time of a process. */
type DividedTimes = Omit<ProcessTimes, 'pod' | 'fastInMpi' | 'states'>

/** From this number of threads that run or wait at once, the threads that call MPI are not all. */
const SEVERAL_THREADS = 1.1

/** Divides the time of a process outside of MPI, and its waiting for a processor. */
export function splitTimes(times: DividedTimes): SplitTimes {
  const { free, delayed, delayedInMpi } = delaysOf(times)
  const asleep = asleepOutside(times, { free, delayed, delayedInMpi })
  const storage = asleep === null || times.storage === null ? null : Math.min(times.storage, asleep)
  const idle = asleep === null ? null : asleep - (storage ?? 0)
  return { computing: free - (asleep ?? 0), storage, idle, delayed, delayedInMpi }
}

/**
 * Returns how long a process slept outside of MPI; null if it is not known. If several of its
 * threads ran at once, others computed while those that call MPI slept. Without the time that
 * mpi-trace counted, a process that used less CPU time than it was outside of MPI slept for at
 * least the rest. CPU time that its calls of MPI cannot have used was used outside of them.
 */
function asleepOutside(
  { asleep, cpu, shares, inMpi }: DividedTimes,
  { free, delayedInMpi }: Delays,
): number | null {
  if (isSeveral(shares)) return 0
  if (cpu === null) return asleep === null ? null : Math.min(asleep, free)
  const usedOutside = Math.max(cpu - Math.max(inMpi - delayedInMpi, 0), 0)
  return Math.min(asleep ?? Math.max(free - cpu, 0), Math.max(free - usedOutside, 0))
}

/**
 * Divides the time that a process waited for a processor between computing and MPI, as mpi-trace
 * has counted it for the threads that call MPI. If other threads run as well, the time is that of
 * the mean thread, divided like that of the threads that call MPI.
 */
function delaysOf(times: DividedTimes): Delays {
  const { elapsed, inMpi, waits, shares } = times
  const known = waits === null ? 0 : waits.outside + waits.inMpi
  if (waits === null || (known === 0 && isSeveral(shares))) return splitByGuess(times)
  const scale = isSeveral(shares) && shares !== null ? (shares.waited * elapsed) / known : 1
  const outside = Math.max(elapsed - inMpi, 0)
  const delayed = Math.min(waits.outside * scale, outside)
  const delayedInMpi = Math.min(waits.inMpi * scale, inMpi)
  return { free: outside - delayed, delayed, delayedInMpi }
}

function isSeveral(shares: RunningShares | null): boolean {
  return shares !== null && shares.threads >= SEVERAL_THREADS
}

/**
 * Divides the time that a process waited for a processor, if the kernel counted it for computing
 * and MPI together. A thread that can run is taken to wait equally often in MPI and outside: the
 * time outside of MPI has the share of the waiting that it has of the time in which the process
 * could run. A process that sleeps in MPI cannot run there, so that all of its waiting was outside;
 * a process that polls in MPI has its part of the waiting there.
 */
function splitByGuess({ elapsed, inMpi, shares }: DividedTimes): Delays {
  const outside = Math.max(elapsed - inMpi, 0)
  const { ran, waited } = shares ?? { ran: 1, waited: 0 }
  const runnable = (ran + waited) * elapsed
  const part = runnable > 0 ? Math.min(outside / runnable, 1) : 0
  const delayed = Math.min(waited * elapsed * part, outside)
  return { free: outside - delayed, delayed, delayedInMpi: waited * elapsed * (1 - part) }
}

/**
 * Computes the efficiency of the processes of one MPI job, and its factors.
 *
 * Load balance, and communication and platform together, are those of the POP Centre of Excellence,
 * https://pop-coe.eu/node/69, with the useful time of a process: its time outside of MPI, without
 * waiting for a processor. The platform is separated from communication by the time that the job
 * would have taken if no thread had waited for a processor. This is the greatest useful time, and
 * the least time in MPI of a process that was not caused by waiting for a processor; see
 * `undelayedInMpi`. The platform is its part of the time of the job. The least value of the
 * platform counts all time in MPI as caused by waiting. Storage and activity are the parts of the
 * useful time in which processes did not wait for storage, and computed.
 *
 * @param unknown why the time of waiting for processors is not known; null if it is known
 */
export function mpiFactors(processes: readonly ProcessTimes[], unknown: string | null): Factor {
  const elapsed = greatest(processes.map((one) => one.elapsed))
  const known = processes.map((one) =>
    unknown === null ? one : { ...one, shares: null, waits: null, asleep: null, cpu: null },
  )
  const splits = known.map(splitTimes)
  const useful = splits.map(usefulTime)
  const most = greatest(useful)
  // What is known of only some of the processes does not divide the time of all.
  const isDivided = splits.every(({ idle }) => idle !== null)
  const computing = isDivided ? mean(splits.map((one) => one.computing)) : mean(useful)
  if (computing <= 0) return missingFactor('efficiency', 'no process ran outside of MPI')
  const undelayed = Math.min(most + least(undelayedInMpi(known, splits, elapsed)), elapsed)
  const balance = balanceFactor(processes, useful)
  const parts =
    unknown === null
      ? [
          factor('communication', most / undelayed),
          factor('platform', undelayed / elapsed, { least: most / elapsed }),
        ]
      : [missingFactor('communication', unknown), missingFactor('platform', unknown)]
  const both = factor('communication-and-platform', most / elapsed, { parts })
  const withoutStorage = isNeverInStorage(processes) ? NEVER_IN_STORAGE : WITHOUT_STORAGE
  const sleep = isDivided ? sleepFactors(splits, mean(useful), withoutStorage) : UNKNOWN_SLEEP
  return factor('efficiency', computing / elapsed, { parts: [balance, both, ...sleep] })
}

const WITHOUT_SLEEP =
  'how long processes slept outside of MPI was not counted, so that computing includes it'

const UNKNOWN_SLEEP = (['storage', 'activity'] as const).map((name) =>
  missingFactor(name, WITHOUT_SLEEP),
)

/**
 * The samples of sleeping processes from which it counts that none waited for storage: if storage
 * were a fourth of their time, ten samples would show it in 94 of 100 runs.
 */
const MIN_ASLEEP = 10

/** Reports whether processes were often seen asleep, and never waiting for storage. */
function isNeverInStorage(processes: readonly ProcessTimes[]): boolean {
  const sum = (valueIn: (states: SleepStates) => number) =>
    processes.reduce((all, { states }) => all + (states === undefined ? 0 : valueIn(states)), 0)
  const isKnown = processes.every(({ states }) => states !== undefined)
  return isKnown && sum(({ storage }) => storage) === 0 && sum(({ asleep }) => asleep) >= MIN_ASLEEP
}

/**
 * Returns the factors of the useful time: storage and activity.
 *
 * @param useful the mean useful time
 * @param withoutStorage why the time of waiting for storage is not known, if it is not
 */
function sleepFactors(
  splits: readonly SplitTimes[],
  useful: number,
  withoutStorage: string,
): readonly Factor[] {
  const isRead = splits.every(({ storage }) => storage !== null)
  const rest = useful - (isRead ? mean(splits.map(({ storage }) => storage ?? 0)) : 0)
  return [
    isRead ? factor('storage', rest / useful) : missingFactor('storage', withoutStorage),
    factor('activity', mean(splits.map(({ computing }) => computing)) / rest),
  ]
}

/**
 * Returns for each process the time in MPI that the processes would have spent there if none had
 * waited for a processor. This is not their time in MPI without waiting: while a process has no
 * processor, the others wait for it in MPI.
 *
 * A process that comes last does not wait. If the processes come last in turn, as those do that
 * share a processor, each has fast calls of the same function, communicator and peer. So the time
 * beyond that of fast calls may be caused by another process that had no processor, for as long as
 * one had none.
 */
function undelayedInMpi(
  processes: readonly ProcessTimes[],
  splits: readonly SplitTimes[],
  elapsed: number,
): readonly number[] {
  const delays = splits.map(({ delayed, delayedInMpi }) => delayed + delayedInMpi)
  const [first = 0, second = 0] = [...delays].sort((a, b) => b - a)
  return splits.map((split, index) => {
    const { delayed, delayedInMpi } = split
    // A process that ended early counts as waiting for the others until the end.
    const rest = Math.max(elapsed - usefulTime(split) - delayed - delayedInMpi, 0)
    const { fastInMpi = null, inMpi = 0 } = processes[index] ?? {}
    if (fastInMpi === null) return rest
    const excess = Math.max(inMpi - delayedInMpi - fastInMpi, 0)
    const ofOthers = delays[index] === first ? second : first
    return Math.max(rest - Math.min(excess, ofOthers), 0)
  })
}

/** Returns the load balance, as the product of the balance between pods and the one within them. */
function balanceFactor(processes: readonly ProcessTimes[], useful: readonly number[]): Factor {
  const most = greatest(useful)
  const byPod = Map.groupBy(useful.keys(), (index) => processes[index]?.pod)
  const means = [...byPod.values()].map((own) => mean([...own].map((index) => useful[index] ?? 0)))
  const parts = [
    factor('balance-between-pods', mean(useful) / greatest(means)),
    factor('balance-within-pods', greatest(means) / most),
  ]
  return factor('load-balance', mean(useful) / most, { parts })
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

function greatest(values: readonly number[]): number {
  return values.reduce((most, value) => Math.max(most, value), 0)
}

function least(values: readonly number[]): number {
  return values.reduce((low, value) => Math.min(low, value), Number.POSITIVE_INFINITY)
}

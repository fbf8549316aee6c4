import { type Factor, factor, missingFactor } from './factor.ts'

/**
 * The parts of its time in which a process ran, and in which it could run and waited for a
 * processor, from 0 to 1. If a process has several threads, these are the means of the threads that
 * ran or waited.
 */
export interface RunningShares {
  readonly ran: number
  readonly waited: number
}

/** The times of a process of MPI, in seconds. */
export interface ProcessTimes {
  readonly pod: string
  /** The time since the end of MPI_Init. */
  readonly elapsed: number
  /** The time in calls of MPI. */
  readonly inMpi: number
  /** Null if the time of waiting for a processor is not known. */
  readonly shares: RunningShares | null
}

/** The time of a process outside of MPI and in MPI, each divided by waiting for a processor. */
export interface SplitTimes {
  /** The time outside of MPI without waiting for a processor. */
  readonly useful: number
  /** The time outside of MPI in which it waited for a processor. */
  readonly delayed: number
  /** The time in MPI in which it waited for a processor. */
  readonly delayedInMpi: number
}

/**
 * Divides the time that a process waited for a processor between computing and MPI. The kernel
 * counts it for both together. A thread that can run is taken to wait equally often in MPI and
 * outside: the time outside of MPI has the share of the waiting that it has of the time in which
 * the process could run. A process that sleeps in MPI cannot run there, so that all of its waiting
 * was outside; a process that polls in MPI has its part of the waiting there.
 */
export function splitTimes({ elapsed, inMpi, shares }: Omit<ProcessTimes, 'pod'>): SplitTimes {
  const outside = Math.max(elapsed - inMpi, 0)
  const { ran, waited } = shares ?? { ran: 1, waited: 0 }
  const runnable = (ran + waited) * elapsed
  const part = runnable > 0 ? Math.min(outside / runnable, 1) : 0
  const delayed = Math.min(waited * elapsed * part, outside)
  return { useful: outside - delayed, delayed, delayedInMpi: waited * elapsed * (1 - part) }
}

/**
 * Computes the efficiency of the processes of one MPI job, and its factors.
 *
 * Load balance, and communication and platform together, are those of the POP Centre of Excellence,
 * https://pop-coe.eu/node/69, with the useful time of a process: its time outside of MPI, without
 * waiting for a processor. The platform is separated from communication by the time that the job
 * would have taken if no thread had waited for a processor. This is the greatest useful time, and
 * the time in MPI of the process with the least, without waiting for a processor. The platform is
 * its part of the time of the job. So a processor that a rank uses to poll in MPI, because another
 * rank has no processor, counts as communication. The least value of the platform counts all time
 * in MPI as caused by waiting.
 *
 * @param unknown why the time of waiting for processors is not known; null if it is known
 */
export function mpiFactors(processes: readonly ProcessTimes[], unknown: string | null): Factor {
  const elapsed = greatest(processes.map((one) => one.elapsed))
  const known = processes.map((one) => (unknown === null ? one : { ...one, shares: null }))
  const splits = known.map(splitTimes)
  const useful = splits.map((one) => one.useful)
  const most = greatest(useful)
  if (most <= 0) return missingFactor('efficiency', 'no process was outside of MPI')
  // A process that ended early counts as waiting for the others until the end.
  const rests = splits.map((one) => elapsed - one.useful - one.delayed - one.delayedInMpi)
  const undelayed = Math.min(most + Math.max(least(rests), 0), elapsed)
  const balance = balanceFactor(processes, useful)
  const parts =
    unknown === null
      ? [
          factor('communication', most / undelayed),
          factor('platform', undelayed / elapsed, { least: most / elapsed }),
        ]
      : [missingFactor('communication', unknown), missingFactor('platform', unknown)]
  const both = factor('communication-and-platform', most / elapsed, { parts })
  return factor('efficiency', mean(useful) / elapsed, { parts: [balance, both] })
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

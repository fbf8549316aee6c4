import { sumBy } from '../../lib/statistics.ts'
import { type Factor, valueIn } from './factor.ts'
import type { Efficiency, ProcessEfficiency } from './run-efficiency.ts'

/** What processes do while their application runs. */
export const RUNNING_STATES = ['computing', 'mpi', 'waiting', 'storage', 'idle'] as const
export type RunningState = (typeof RUNNING_STATES)[number]

/** The time of which the efficiency is known, and its division. */
export interface MeasuredTime {
  /** Seconds, added over the pods. */
  readonly seconds: number
  /**
   * The parts of this time, from 0 to 1; their sum is at most 1. `waiting` is for a processor.
   * `storage` is null if it is not known, and then in `idle`.
   */
  readonly shares: Readonly<Record<Exclude<RunningState, 'storage'>, number>> & {
    readonly storage: number | null
  }
  /** Whether the processes may have computed for less time. */
  readonly isLimit: boolean
}

/** Returns the division of the time that an efficiency is about; null if it is not known. */
export function measuredTime({
  basis,
  root,
  processes,
  pods,
}: Pick<Efficiency, 'basis' | 'root' | 'processes' | 'pods'>): MeasuredTime | null {
  if (basis === 'mpi') return measuredByProcesses(root, processes)
  return measuredByFactors(
    root,
    sumBy(pods, ({ elapsed }) => elapsed),
  )
}

/**
 * Returns the division of the time of pods from the factors of `processorFactors`; null if there is
 * no efficiency. Without the platform, only computing is known.
 *
 * @param seconds the time of which these are the factors, added over the pods
 */
export function measuredByFactors(root: Factor, seconds: number): MeasuredTime | null {
  const { value: computing, least } = root
  if (computing === null) return null
  const [platform, stored] = [valueIn(root, 'platform'), valueIn(root, 'storage')]
  const isLimit = least === 0
  const known = { computing, mpi: 0, waiting: 0, storage: null, idle: 0 }
  if (platform === null) return { seconds, shares: known, isLimit }
  const runnable = Math.min(computing / platform, 1)
  const storage = stored === null ? null : Math.min(1 - stored, 1 - runnable)
  const idle = Math.max(1 - runnable - (storage ?? 0), 0)
  return { seconds, shares: { ...known, waiting: runnable - computing, storage, idle }, isLimit }
}

/**
 * Returns the division of the time of MPI processes since MPI_Init, with the times that
 * `mpiFactors` uses; null if they have no efficiency, or if threads were in MPI at the same time:
 * their times together may be longer than the run.
 */
function measuredByProcesses(
  root: Factor,
  processes: readonly ProcessEfficiency[],
): MeasuredTime | null {
  const isDivisible = processes.every(({ elapsed, inMpi }) => elapsed > 0 && inMpi <= elapsed)
  if (root.value === null || !isDivisible) return null
  const elapsed = sumBy(processes, (one) => one.elapsed)
  const part = (read: (process: ProcessEfficiency) => number) => sumBy(processes, read) / elapsed
  const byPod = Map.groupBy(processes, ({ pod }) => pod)
  const ofPods = [...byPod.values()].map((own) => sumBy(own, (one) => one.elapsed) / own.length)
  const seconds = sumBy(ofPods, (one) => one)
  if (valueIn(root, 'platform') === null) {
    const mpi = part(({ inMpi }) => inMpi)
    const shares = { computing: 1 - mpi, mpi, waiting: 0, storage: null, idle: 0 }
    return { seconds, shares, isLimit: true }
  }
  const waitingInMpi = part(({ inMpi, split }) => Math.min(split.delayedInMpi, inMpi))
  const isSleepKnown = processes.every(({ split }) => split.idle !== null)
  const isStorageKnown = isSleepKnown && processes.every(({ split }) => split.storage !== null)
  const asleep = part(({ split }) => (split.storage ?? 0) + (split.idle ?? 0))
  const storage = isStorageKnown ? part(({ split }) => split.storage ?? 0) : null
  return {
    seconds,
    shares: {
      computing: part(({ split }) => split.computing) + (isSleepKnown ? 0 : asleep),
      mpi: part(({ inMpi }) => inMpi) - waitingInMpi,
      waiting: part(({ split }) => split.delayed) + waitingInMpi,
      storage,
      idle: isSleepKnown ? asleep - (storage ?? 0) : 0,
    },
    isLimit: !isSleepKnown,
  }
}

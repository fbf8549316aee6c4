import type { StorageTime } from '../findings/devices/pod-storage.ts'
import { type Factor, factor, missingFactor, WITHOUT_STORAGE } from './factor.ts'

/** The times of a pod without regard to MPI, in seconds. */
export interface PodTimes {
  readonly pod: string
  /** The seconds that the rows of the pod cover. */
  readonly elapsed: number
  /** CPU seconds of all threads; null if they were not read. */
  readonly ran: number | null
  /** The seconds that threads waited for a processor, summed; null if they were not read. */
  readonly waited: number | null
  /** How long the pod waited for storage; null if it was not read. */
  readonly storage: StorageTime | null
  /** The processors that the limit of its containers or its pod allows; null if not known. */
  readonly limit: number | null
}

/** The parts of the time of a pod; those that are not known are null. */
export interface PodShares {
  readonly computing: number
  readonly waiting: number | null
  readonly storage: number | null
  readonly idle: number | null
}

/**
 * Returns the parts of the time of a pod: if several threads ran or waited at once, also for
 * storage, those of the mean thread; null if the CPU time is not known. Idle is the rest of the
 * time.
 */
export function podShares({
  elapsed,
  ran,
  waited,
  storage,
}: Pick<PodTimes, 'elapsed' | 'ran' | 'waited' | 'storage'>): PodShares | null {
  if (ran === null || elapsed <= 0) return null
  const runnable = ran + (waited ?? 0)
  const part = runnable === 0 ? 0 : runnableTime(runnable, elapsed, storage) / runnable / elapsed
  const computing = ran * part
  if (waited === null) return { computing, waiting: null, storage: null, idle: null }
  const waiting = waited * part
  const rest = Math.max(1 - computing - waiting, 0)
  const stored = storage === null ? null : Math.min(storage.seconds / elapsed, rest)
  return { computing, waiting, storage: stored, idle: rest - (stored ?? 0) }
}

/**
 * Returns how long the mean thread ran or waited for a processor.
 *
 * @param runnable the seconds in which threads did so, summed
 */
function runnableTime(runnable: number, elapsed: number, storage: StorageTime | null): number {
  // If all processes waited for storage, none of them could run.
  if (storage !== null && storage.atOnce === null)
    return Math.min(runnable, Math.max(elapsed - storage.seconds, 0))
  const stored = (storage?.seconds ?? 0) * (storage?.atOnce ?? 0)
  return runnable / Math.max((runnable + stored) / elapsed, 1)
}

const ONE_SAMPLE = 'no pod has rows of two timepoints'
const WITHOUT_TIME = 'the CPU time of the processes was not read (metric vitals or pressure)'
const WITHOUT_DELAY = 'run_delay was not read (metric vitals or pressure)'

/** Returns why the efficiency is missing. @param hasRows whether processes have rows */
export function withoutTimes(hasRows: boolean): Factor {
  return missingFactor('efficiency', hasRows ? ONE_SAMPLE : WITHOUT_TIME)
}

/**
 * Computes the efficiency of pods of which no MPI is known: the part of the time in which a thread
 * ran. It is the product of the platform, of storage, and of activity.
 *
 * @param pods those with rows of several timepoints, at least one
 * @param isLimit whether the processes may have computed for less time: a process that ran may have
 * waited in MPI, or one of several processes may not have run
 */
export function processorFactors(pods: readonly PodTimes[], isLimit: boolean): Factor {
  const least = isLimit ? 0 : null
  const known = pods.map((one) => ({ elapsed: one.elapsed, shares: podShares(one) }))
  const sum = (valueIn: (shares: PodShares) => number) =>
    known.reduce((all, { elapsed, shares }) => {
      return all + (shares === null ? 0 : elapsed * valueIn(shares))
    }, 0)
  const all = sum(() => 1)
  const computing = sum((shares) => shares.computing)
  if (computing <= 0 || known.some(({ shares }) => shares === null))
    return missingFactor('efficiency', WITHOUT_TIME)
  if (known.some(({ shares }) => shares?.waiting === null)) {
    const parts = (['platform', 'storage', 'activity'] as const).map((name) =>
      missingFactor(name, WITHOUT_DELAY),
    )
    return factor('efficiency', computing / all, { parts, least })
  }
  const runnable = computing + sum((shares) => shares.waiting ?? 0)
  const stored = known.every(({ shares }) => shares?.storage !== null)
    ? sum((shares) => shares.storage ?? 0)
    : null
  const parts = [
    factor('platform', computing / runnable),
    stored === null
      ? missingFactor('storage', WITHOUT_STORAGE)
      : factor('storage', (all - stored) / all),
    factor('activity', runnable / (all - (stored ?? 0))),
  ]
  return factor('efficiency', computing / all, { parts, least })
}

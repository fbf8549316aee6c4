import {
  type MeasuredTime,
  RUNNING_STATES,
  type RunningState,
} from '../efficiency/measured-time.ts'
import type { RunningSeconds, TimeOfRun } from './parts.ts'

/**
 * The most time before the last pod started, lost or not known, as a part of all time in which pods
 * may have run. The efficiency is about this time, too.
 */
const MAX_OTHER = 0.05

const ABOUT_OTHER =
  'the running time is not divided: the efficiency is also about the time before the last pod ' +
  'started, of lost attempts, or of which it is not known whether pods ran'

/**
 * Divides the running time of a run as its efficiency is divided. The time of which no efficiency
 * is known, such as that before MPI_Init, is `unknown`.
 *
 * @param measured null if the efficiency is not known; then the running time is not divided
 */
export function divideRunning<Time extends TimeOfRun>(
  time: Time,
  measured: MeasuredTime | null,
): Time {
  const { running, partial, lost, unknown } = time.seconds
  if (measured === null || running <= 0) return time
  const other = partial + lost + unknown
  if (other > MAX_OTHER * (running + other))
    return { ...time, reasons: [...time.reasons, ABOUT_OTHER] }
  const known = Math.min(measured.seconds, running)
  const seconds = mapStates((state) => {
    const share = measured.shares[state]
    return share === null ? null : share * known
  })
  const sum = RUNNING_STATES.reduce((all, state) => all + (seconds[state] ?? 0), 0)
  const divided = { ...seconds, unknown: Math.max(running - sum, 0) }
  return { ...time, running: { seconds: divided, isLimit: measured.isLimit } }
}

/** Returns a number for each state; null if it is not known. */
export function mapStates(
  read: (state: RunningState) => number | null,
): Omit<RunningSeconds, 'unknown'> {
  const states = RUNNING_STATES.map((state) => [state, read(state)] as const)
  return Object.fromEntries(states) as Record<RunningState, number | null>
}

/** The words after a duration. */
const PHRASES: Readonly<Record<keyof RunningSeconds, string>> = {
  computing: 'computing',
  mpi: 'in MPI',
  waiting: 'waiting for a processor',
  storage: 'waiting for storage',
  idle: 'idle',
  unknown: 'not measured',
}

/** States with less than this part of the running time are not shown. */
const MIN_SHOWN = 0.005

/** A part of the running time, for people. */
export interface RunningPart {
  readonly phrase: string
  /** Whether it is the greatest time that is possible. */
  readonly isLimit: boolean
  /** Seconds of a mean pod. */
  readonly seconds: number
}

/** Returns the parts of the running time for people; none if it is not divided. */
export function runningParts({ running, seconds, places }: TimeOfRun): readonly RunningPart[] {
  if (running === null) return []
  const states = [...RUNNING_STATES, 'unknown'] as const
  return states.flatMap((state) => {
    const own = running.seconds[state] ?? 0
    if (own < MIN_SHOWN * seconds.running) return []
    const isLimit = state === 'computing' && running.isLimit
    const isIdle = state === 'idle' && running.seconds.storage === null
    const phrase = isIdle ? 'idle or waiting for storage' : PHRASES[state]
    return { phrase, isLimit, seconds: own / places }
  })
}

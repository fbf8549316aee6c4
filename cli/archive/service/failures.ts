import { type Backoff, backoffMs } from '../../../src/lib/pause.ts'

/** The failures of work since it last succeeded. */
export interface Failures {
  readonly count: number
  /** When the first one was, in milliseconds since 1970; infinite if there is none. */
  readonly since: number
}

export const NO_FAILURES: Failures = { count: 0, since: Number.POSITIVE_INFINITY }

/** @param now the time in milliseconds since 1970 */
export function addFailure({ count, since }: Failures, now: number): Failures {
  return { count: count + 1, since: Math.min(since, now) }
}

/** Returns the pause after the last failure, in milliseconds; 0 if there is none. */
export function pauseAfter({ count }: Failures, backoff: Backoff): number {
  return count === 0 ? 0 : backoffMs(backoff, count - 1)
}

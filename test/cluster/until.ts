import { until as untilHolds } from '../until.ts'

/**
 * Waits for a condition in a cluster, which takes longer than in a process. So it is checked less
 * often.
 */
export function until(
  what: string,
  holds: () => Promise<boolean>,
  patienceMs = 300_000,
): Promise<void> {
  return untilHolds(what, holds, { patienceMs, pauseMs: 100 })
}

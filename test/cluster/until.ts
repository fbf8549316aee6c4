import { until as untilHolds } from '../until.ts'

/**
 * Waits for a condition in a cluster. The condition is checked less often than in other tests,
 * because changes in a cluster take longer.
 */
export function until(
  what: string,
  holds: () => Promise<boolean>,
  patienceMs = 300_000,
): Promise<void> {
  return untilHolds(what, holds, { patienceMs, pauseMs: 100 })
}

import { until as untilHolds } from '../until.ts'

/** Waits until something holds of a cluster, which takes longer and is asked less often. */
export function until(
  what: string,
  holds: () => Promise<boolean>,
  patienceMs = 60_000,
): Promise<void> {
  return untilHolds(what, holds, { patienceMs, pauseMs: 100 })
}

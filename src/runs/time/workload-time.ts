import { groupAttempts, hasRestarts, MAX_ATTEMPT_GROUPS } from '../attempts/attempt-groups.ts'
import type { Controllers } from '../collect/run-controllers.ts'
import type { RunPod } from '../facts/pod-facts.ts'
import { groupRuns, isOver } from '../facts/run.ts'
import type { CollectedTime } from './collected-time.ts'
import { listAttempts } from './list-attempts.ts'
import { divideTime, sumTime } from './run-time.ts'

/** The most reasons that are kept. */
const MAX_REASONS = 5

/**
 * Measures the time of a workload while its logs are collected.
 *
 * @param now the time in milliseconds since 1970
 * @returns null if the pods are not those of one run, the run has no end, such as that of a
 * Deployment, or its controller could not be read, so that its beginning is not known
 */
export function measureWorkload(
  pods: readonly RunPod[],
  controllers: Controllers,
  workload: string,
  now: number,
): CollectedTime | null {
  const [run, ...others] = groupRuns(pods, controllers)
  if (run === undefined || others.length > 0 || run.begun === null) return null
  const time = divideTime(run, now)
  if (time === null) return null
  const { reasons, ...sum } = sumTime(time)
  const attempts = groupAttempts(listAttempts(run), MAX_ATTEMPT_GROUPS)
  const facts = { workload, isOver: isOver(run.phase) }
  return {
    ...sum,
    ...facts,
    reasons: shorten(reasons),
    attempts: hasRestarts(attempts) ? attempts : [],
  }
}

/** Each pod can have a reason, and each log has all of them. */
function shorten(reasons: readonly string[]): readonly string[] {
  const shown = reasons.slice(0, MAX_REASONS)
  const more = reasons.length - shown.length
  return more === 0 ? shown : [...shown, `and ${more} more`]
}

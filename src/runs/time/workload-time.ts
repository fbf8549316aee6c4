import { groupAttempts, hasRestarts, MAX_ATTEMPT_GROUPS } from '../attempts/attempt-groups.ts'
import type { Controllers } from '../collect/run-controllers.ts'
import { hasLostPods } from '../facts/lost-pods.ts'
import { isTerminal, type RunPod } from '../facts/pod-facts.ts'
import { groupRuns, isOver } from '../facts/run.ts'
import type { CollectedTime } from './collected-time.ts'
import { listAttempts } from './list-attempts.ts'
import type { TimeOfRun } from './parts.ts'
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

/** Where the time of pods went since the first of them was created. */
export interface PodsTime {
  readonly time: TimeOfRun
  /** Whether all pods have ended. */
  readonly isOver: boolean
}

/**
 * Measures the time of pods of one workload of which nothing else is known.
 *
 * @param now the time in milliseconds since 1970
 * @returns null if no creation is known, or if the pods are those of revisions of a workload, which
 * come and go
 */
export function measurePods(pods: readonly RunPod[], now: number): PodsTime | null {
  if (pods.some(({ revision }) => revision !== null)) return null
  const isEnded = pods.every(({ phase, isGone }) => isGone || isTerminal(phase))
  const run = {
    ...({ group: '', kind: 'Pod', begun: null, phase: isEnded ? 'Unknown' : 'Running' } as const),
    pods,
    hasLostPods: hasLostPods(pods.map((pod) => ({ pod, chain: [] }))),
  }
  const time = divideTime(run, now)
  return time === null ? null : { time: sumTime(time), isOver: isEnded }
}

/** Each pod can have a reason, and each log has all of them. */
function shorten(reasons: readonly string[]): readonly string[] {
  const shown = reasons.slice(0, MAX_REASONS)
  const more = reasons.length - shown.length
  return more === 0 ? shown : [...shown, `and ${more} more`]
}

import type { ListedController } from '../collect/run-controllers.ts'
import type { RunPod } from './pod-facts.ts'

/** A pod of a run with its controllers, the nearest one first. */
export interface PodWithControllers {
  readonly pod: RunPod
  readonly chain: readonly ListedController[]
}

/** Reports whether a Job counts more failed pods than exist, or a JobSet has restarted. */
export function hasLostPods(members: readonly PodWithControllers[]): boolean {
  const isShort = countFailedPods(members, ({ phase }) => phase === 'Failed') > 0
  return isShort || members.every(({ pod }) => pod.restartAttempt > 0)
}

/**
 * Returns how many pods that failed are not known, as Jobs count them: also those that were deleted
 * before they succeeded.
 */
export function countLostPods(members: readonly PodWithControllers[]): number {
  return countFailedPods(members, ({ phase, wasDeleted, isGone }) => {
    return phase === 'Failed' || (phase !== 'Succeeded' && (wasDeleted || isGone))
  })
}

/** Returns how many pods failed, as Jobs count them, beside those that are known to have. */
function countFailedPods(
  members: readonly PodWithControllers[],
  hasFailed: (pod: RunPod) => boolean,
): number {
  const byController = Map.groupBy(members, ({ pod }) => pod.controller?.uid)
  const counts = [...byController.values()].map((own) => {
    const failed = own[0]?.chain[0]?.facts?.failed ?? 0
    return Math.max(failed - own.filter(({ pod }) => hasFailed(pod)).length, 0)
  })
  return counts.reduce((sum, count) => sum + count, 0)
}

import type { RunPod } from '../card/pod-facts.ts'

/**
 * Returns the state of a pod to remember: the new one, with what only the states before it show. A
 * pod whose containers have ended does not show whether they did so before its deletion was
 * requested. A pod of a deleted workload can lose its controller (`--cascade=orphan`).
 */
export function rememberPod(before: RunPod | undefined, now: RunPod): RunPod {
  if (before === undefined) return now
  const wasDeleted = now.wasDeleted || before.wasDeleted
  return { ...now, wasDeleted, controller: before.controller }
}

/** Returns the last state of a pod that does not exist any more. */
export function rememberGone(last: RunPod): RunPod {
  return { ...last, isGone: true }
}

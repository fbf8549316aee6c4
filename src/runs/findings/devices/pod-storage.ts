import { joinLosses, type ProcessLoss } from '../../rules/time-lost.ts'

// How long a pod waited for storage. Its containers, and its processes, wait at the same time, so
// their times are not added: the time of a pod is at most the length of the run.

/**
 * Returns the container that waited the longest: the time for which its processes were all stalled
 * is that of the pod; undefined if there is none.
 *
 * @param secondsOf the seconds for which all processes of a container were stalled
 */
export function longestStalled<Container>(
  containers: readonly Container[],
  secondsOf: (container: Container) => number,
): Container | undefined {
  return containers.reduce<Container | undefined>(
    (most, one) => (most === undefined || secondsOf(one) > secondsOf(most) ? one : most),
    undefined,
  )
}

/**
 * Returns the block I/O delay of a pod, from those of its processes. Processes without a delay do
 * not count.
 *
 * @param elapsed the seconds for which its processes were observed
 */
export function podDelay(delays: readonly ProcessLoss[], elapsed: number): number {
  return joinLosses(
    delays.filter(({ seconds }) => seconds > 0),
    elapsed,
  )
}

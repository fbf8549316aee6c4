import { joinLosses, type ProcessLoss } from '../../rules/time-lost.ts'

// How long a pod waited for storage. Its containers, and its processes, wait at the same time, so
// their times are not added: the time of a pod is at most the length of the run.

/** How long a pod waited for storage. */
export interface StorageTime {
  readonly seconds: number
  /** How many processes waited at once, on average; null if all did. */
  readonly atOnce: number | null
}

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

/**
 * Returns how many processes of a pod waited for storage at once, if all processes of one of its
 * containers did: at least one, because the other containers may have run; null if there are none.
 *
 * @param containers the number of containers whose stalls were read
 */
export function stalledAtOnce(containers: number): number | null {
  return containers > 1 ? 1 : null
}

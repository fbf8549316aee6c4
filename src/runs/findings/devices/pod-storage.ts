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

/** The block I/O delay of a process, and for how long it was observed, in seconds. */
export interface ProcessDelay {
  readonly seconds: number
  readonly life: number
}

/**
 * Returns the block I/O delay of a pod. If its processes ran one after another, this is the sum of
 * their delays. If they ran together, the sum is divided by the number that ran at the same time on
 * average; the result is at least the longest delay.
 *
 * @param elapsed the seconds for which its processes were observed
 */
export function podDelay(delays: readonly ProcessDelay[], elapsed: number): number {
  const waiting = delays.filter(({ seconds }) => seconds > 0)
  const [sum, lives, longest] = waiting.reduce(
    ([all, time, most], { seconds, life }) => [all + seconds, time + life, Math.max(most, seconds)],
    [0, 0, 0],
  )
  const together = Math.max(elapsed > 0 ? lives / elapsed : 1, 1)
  return Math.min(Math.max(sum / together, longest), elapsed)
}

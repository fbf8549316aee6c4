/** The fewest lost seconds with which a finding about lost time is made. */
export const MIN_SECONDS = 1

/**
 * Returns the seconds of the run that waiting took. Several threads may wait at the same time, so
 * the sum of their waits is divided by the average number of threads that ran or waited, if this
 * number is above 1.
 *
 * @param waited seconds of waiting, summed over threads or processors
 * @param ran CPU seconds, summed in the same way
 * @param elapsed the seconds in which `waited` and `ran` were counted
 */
export function timeLost(waited: number, ran: number, elapsed: number): number {
  if (elapsed <= 0) return 0
  return Math.min(waited / Math.max((waited + ran) / elapsed, 1), elapsed)
}

/** The time that a process lost, and for how long it was observed, in seconds. */
export interface ProcessLoss {
  readonly seconds: number
  readonly life: number
}

/**
 * Returns the time that processes lost. If they ran one after another, this is the sum of their
 * losses. If they ran together, the sum is divided by the number that ran at the same time on
 * average; the result is at least the longest loss.
 *
 * @param elapsed the seconds for which the processes were observed, which are the most
 */
export function joinLosses(losses: readonly ProcessLoss[], elapsed: number): number {
  const [sum, lives, longest] = losses.reduce(
    ([all, time, most], { seconds, life }) => [all + seconds, time + life, Math.max(most, seconds)],
    [0, 0, 0],
  )
  const together = Math.max(elapsed > 0 ? lives / elapsed : 1, 1)
  return Math.min(Math.max(sum / together, longest), elapsed)
}

/** Returns a part of a whole as a percentage; 0 if the whole is 0. */
export function percentOf(part: number, whole: number): number {
  return whole > 0 ? (100 * part) / whole : 0
}

/** The efficiency below which the POP Centre of Excellence calls an application inefficient. */
export const MIN_EFFICIENCY = 0.8

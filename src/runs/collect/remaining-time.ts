/** The milliseconds before the remaining time is estimated. */
const MEASURED_MS = 2000

/**
 * Estimates the remaining time from the mean time of the items that are done, in words such as
 * `about 3 min left`.
 *
 * @param done the number of items that were done in this run
 * @param remaining the number of items that are not done
 * @param passedMs the time since the start of this run, in milliseconds
 * @returns undefined if too little was done for an estimate
 */
export function describeRemaining(
  done: number,
  remaining: number,
  passedMs: number,
): string | undefined {
  if (done === 0 || remaining === 0 || passedMs < MEASURED_MS) return undefined
  return `about ${describeSeconds(((passedMs / done) * remaining) / 1000)} left`
}

function describeSeconds(seconds: number): string {
  if (seconds < 59.5) return `${Math.max(1, Math.round(seconds))} s`
  const minutes = Math.round(seconds / 60)
  if (minutes < 60) return `${minutes} min`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

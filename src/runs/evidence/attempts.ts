import type { Sample } from '../log/columns.ts'

/** The last attempt of containers, by log and container. Those without a restart are missing. */
export type Attempts = Map<string, number>

/**
 * Compares the attempt of the process that a row is about with the last one of its container.
 * `next` is the first row of a later attempt, which is the last one from then on. A row that is not
 * about a process is of the last one.
 */
export function compareAttempt(attempts: Attempts, sample: Sample): 'earlier' | 'last' | 'next' {
  const { attempt } = sample
  if (attempt === undefined || (attempt === null && attempts.size === 0)) return 'last'
  const [own, last] = [attemptOf(sample), lastAttempt(attempts, sample)]
  if (own < last) return 'earlier'
  if (own === last) return 'last'
  attempts.set(keyOf(sample), own)
  return 'next'
}

/** Returns the attempt of a row. The rows of the first one have no number. */
export function attemptOf({ attempt }: Sample): number {
  return typeof attempt === 'number' ? attempt : 1
}

/** Returns the last attempt of the container of a row that is known. */
export function lastAttempt(attempts: Attempts, sample: Sample): number {
  return attempts.get(keyOf(sample)) ?? 1
}

function keyOf({ source, container }: Sample): string {
  return JSON.stringify([source, container])
}

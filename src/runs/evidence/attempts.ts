import type { Sample } from '../log/columns.ts'

/** The last attempt of containers, by log and container. Those without a restart are missing. */
export type Attempts = Map<string, number>

/**
 * Compares the attempt of the process that a row is about with the last one of its container.
 * `next` is the first row of a later attempt, which is the last one from then on. A row that is not
 * about a process is of the last one.
 */
export function compareAttempt(
  attempts: Attempts,
  { source, container, attempt }: Sample,
): 'earlier' | 'last' | 'next' {
  const isRestarted = typeof attempt === 'number'
  if (attempt === undefined || (!isRestarted && attempts.size === 0)) return 'last'
  // The rows of the first attempt have no number.
  const own = isRestarted ? attempt : 1
  const key = JSON.stringify([source, container])
  const last = attempts.get(key) ?? 1
  if (own < last) return 'earlier'
  if (own === last) return 'last'
  attempts.set(key, own)
  return 'next'
}

import { backoffMs, jittered, pause } from '../lib/pause.ts'
import { ApiError } from './api-error.ts'

/** The maximum number of attempts, including the first one. */
export const ATTEMPTS = 5

/** `ATTEMPTS` limits the number of pauses, and so the longest one. */
const BACKOFF = { pauseMs: 500, longestPauseMs: Number.POSITIVE_INFINITY }

/** The shares of the usual pause between which a pause is chosen. */
const SPREAD = { least: 0.75, most: 1.25 }

/**
 * Reports whether a failed request may succeed later: if no complete response arrived, if there
 * were too many requests (429), or if the apiserver or a kubelet failed (5xx).
 */
export function isTemporary(error: unknown): boolean {
  return !(error instanceof ApiError) || error.status === 429 || error.status >= 500
}

/**
 * Returns the pause after a failed attempt, in milliseconds. The pauses differ at random, so that
 * requests that failed together are not repeated together.
 *
 * @param attempt the number of the failed attempt, from 1
 * @param error the error of the attempt; an ApiError may contain a minimum (Retry-After)
 * @param random a number from 0 to less than 1
 */
export function pauseAfter(attempt: number, error: unknown, random = Math.random()): number {
  const usual = jittered(backoffMs(BACKOFF, attempt - 1), SPREAD, random)
  return Math.max(usual, error instanceof ApiError ? error.retryAfterMs : 0)
}

/**
 * Sends a request until it succeeds, fails for a reason that does not pass, or has failed as often
 * as `ATTEMPTS`.
 *
 * @throws the error of the last attempt
 */
export async function repeat<Result>(send: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await send()
    } catch (error) {
      if (attempt === ATTEMPTS || !isTemporary(error)) throw error
      await pause(pauseAfter(attempt, error))
    }
  }
}

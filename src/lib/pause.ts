import { setTimeout as sleep } from 'node:timers/promises'

/** Waits for a number of milliseconds, or until the signal is aborted. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {})
}

/**
 * Waits for a number of milliseconds without keeping the process running, as work in the background
 * does between two turns.
 *
 * @throws AbortError once the signal is aborted, so that the work ends
 */
export async function pauseInBackground(ms: number, signal?: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal, ref: false })
}

/** Waits that another part of the program can end early. */
export interface Pause {
  /**
   * Waits for a number of milliseconds, until `end` is called, or until the signal is aborted.
   *
   * @returns whether the wait was ended early
   */
  readonly wait: (ms: number) => Promise<boolean>
  /** Ends the current wait. If there is none, the next one ends at once. */
  readonly end: () => void
}

export function createPause(signal: AbortSignal): Pause {
  let isEnded = false
  let wake = () => {}
  const end = () => {
    isEnded = true
    wake()
  }
  signal.addEventListener('abort', end, { once: true })
  return {
    end,
    wait: async (ms) => {
      if (ms > 0 && !isEnded && !signal.aborted) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms)
          wake = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      }
      const wasEnded = isEnded
      isEnded = false
      return wasEnded
    },
  }
}

/**
 * The first and the longest pause after failures, in milliseconds. Each pause is twice as long as
 * the previous one.
 */
export interface Backoff {
  readonly pauseMs: number
  readonly longestPauseMs: number
}

/**
 * Returns the pause after a failure, in milliseconds.
 *
 * @param pauses the number of pauses before this one
 */
export function backoffMs({ pauseMs, longestPauseMs }: Backoff, pauses: number): number {
  return Math.min(pauseMs * 2 ** pauses, longestPauseMs)
}

/** The limits of a random time, as shares of the usual time. */
export interface Spread {
  readonly least: number
  readonly most: number
}

/** Between half of the usual time and the usual time. */
const UP_TO_USUAL: Spread = { least: 0.5, most: 1 }

/**
 * Returns a random time near `ms`: by default, between half of `ms` and `ms`. Replicas that started
 * together then do not keep acting at the same time, and requests that failed together are not
 * repeated together.
 *
 * @param random a number from 0 to less than 1
 */
export function jittered(
  ms: number,
  { least, most }: Spread = UP_TO_USUAL,
  random = Math.random(),
): number {
  return ms * (least + random * (most - least))
}

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

import { createPause } from '../../src/lib/pause.ts'

/** Decides when the pods are listed again. */
export interface LookPace {
  /**
   * Waits until the pods are to be listed again, or until the signal is aborted.
   *
   * @param pods the number of pods, on which the cost of a list depends
   */
  readonly wait: (pods: number) => Promise<void>
  /** Requests an early list, because a log has ended. */
  readonly hurry: () => void
}

/** Milliseconds between two lists of the pods: `LOOK_MS_PER_POD` for each pod, within limits. */
const LOOK_MS = 2000
const LOOK_MS_PER_POD = 10
const LOOK_MOST_MS = 30_000

/** After an early list, the next one is not early, so that logs that end one by one cost little. */
export function createLookPace(signal: AbortSignal): LookPace {
  const rest = createPause(signal)
  const pause = createPause(signal)
  let wasEarly = false
  return {
    hurry: pause.end,
    wait: async (pods) => {
      const usualMs = Math.min(LOOK_MOST_MS, pods * LOOK_MS_PER_POD)
      await rest.wait(LOOK_MS)
      const current = wasEarly ? rest : pause
      wasEarly = await current.wait(Math.max(0, usualMs - LOOK_MS))
    },
  }
}

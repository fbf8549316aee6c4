import { pauseInBackground } from '../../src/lib/pause.ts'

/** Limits the number of requests that wait for their response. */
export interface OpeningGate {
  /** Waits for a place, and returns the function that frees it. */
  readonly enter: (signal: AbortSignal) => Promise<() => void>
}

/**
 * The most requests at a time that wait for a response. The apiserver then gets no burst of TLS
 * handshakes when `top` starts on a large run.
 */
const PLACES = 32

/**
 * The kubelet begins a response with the first line of the log, which an observer may not have
 * written yet. A request therefore keeps its place only for this many milliseconds.
 */
const MAX_MS = 2000

export function createOpeningGate(): OpeningGate {
  let free = PLACES
  const waiting: (() => void)[] = []
  const leave = () => {
    const next = waiting.shift()
    if (next === undefined) free += 1
    else next()
  }
  return {
    enter: async (signal) => {
      if (free > 0) free -= 1
      else await new Promise<void>((resolve) => waiting.push(resolve))
      const timer = new AbortController()
      let isInside = true
      const leaveOnce = () => {
        if (!isInside) return
        isInside = false
        timer.abort()
        leave()
      }
      const limit = AbortSignal.any([signal, timer.signal])
      pauseInBackground(MAX_MS, limit).then(leaveOnce, leaveOnce)
      return leaveOnce
    },
  }
}

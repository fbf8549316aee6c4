import { setImmediate } from 'node:timers/promises'

let end: Promise<void> | undefined

/**
 * Resolves when the event loop has read all calls that have arrived; all waiting handlers share one
 * promise.
 *
 * If each call is read, answered and written before the next, every step finds the processor's
 * caches full of the other two, and a decision takes twice as long as in a batch. A single call
 * waits for no other call.
 */
export function turnEnd(): Promise<void> {
  end ??= setImmediate().then(() => {
    end = undefined
  })
  return end
}

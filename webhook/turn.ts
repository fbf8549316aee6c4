import { setImmediate } from 'node:timers/promises'

let end: Promise<void> | undefined

/**
 * Resolves when the event loop has read all calls that have arrived. All waiting handlers share one
 * promise.
 *
 * The calls are then decided as a batch. If each call were read, decided and written before the
 * next call is read, these three steps would displace each other's code and data from the
 * processor's caches, and a decision would take twice as long. A single call does not wait for
 * other calls.
 */
export function turnEnd(): Promise<void> {
  end ??= setImmediate().then(() => {
    end = undefined
  })
  return end
}

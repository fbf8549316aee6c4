import { setImmediate } from 'node:timers/promises'

let end: Promise<void> | undefined

/**
 * Resolves when the event loop has read all calls that have come by now, for all who wait at once.
 *
 * One that reads, answers and writes call by call runs each part with the processor's caches full of the other
 * two: an answer then takes twice as long as one after another. A call that comes alone waits for nobody.
 */
export function turnEnd(): Promise<void> {
  end ??= setImmediate().then(() => {
    end = undefined
  })
  return end
}

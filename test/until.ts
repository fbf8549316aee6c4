import { setTimeout as sleep } from 'node:timers/promises'

/** How long is waited, and how long between two looks. Milliseconds. */
interface Waiting {
  readonly patienceMs?: number
  readonly pauseMs?: number
}

/** Waits until something holds; it gives up, with a sentence, after a generous while. */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  { patienceMs = 30_000, pauseMs = 10 }: Waiting = {},
): Promise<void> {
  const end = performance.now() + patienceMs
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`waited in vain until ${what}`)
    await sleep(pauseMs)
  }
}

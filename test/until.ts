import { setTimeout as sleep } from 'node:timers/promises'

/** The longest wait, and the pause between two checks. Milliseconds. */
interface Waiting {
  readonly patienceMs?: number
  readonly pauseMs?: number
}

/** Waits until a condition is true, and throws an error that names it if that takes too long. */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  { patienceMs = 120_000, pauseMs = 10 }: Waiting = {},
): Promise<void> {
  const end = performance.now() + patienceMs
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`waited in vain until ${what}`)
    await sleep(pauseMs)
  }
}

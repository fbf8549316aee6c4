import { setTimeout as sleep } from 'node:timers/promises'

/** The maximum wait and the pause between two checks, in milliseconds. */
interface Waiting {
  readonly patienceMs?: number
  readonly pauseMs?: number
}

/** Waits until a condition is true. */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  { patienceMs = 120_000, pauseMs = 10 }: Waiting = {},
): Promise<void> {
  const end = performance.now() + patienceMs
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`timed out waiting until ${what}`)
    await sleep(pauseMs)
  }
}

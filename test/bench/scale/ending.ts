const START = performance.now()

/** Prints a line with the seconds since the start. */
export function say(line: string): void {
  const seconds = ((performance.now() - START) / 1000).toFixed(0).padStart(5)
  process.stderr.write(`${seconds} s  ${line}\n`)
}

export const print = (text: string) => process.stdout.write(`${text}\n`)

/** Registers an action for the end of the measurement. */
export type Defer = (action: () => Promise<unknown>) => void

/** The actions that end what a measurement has started. */
export interface Deferred {
  readonly defer: Defer
  /** Ends everything that was started, the last first. A failed action does not stop the others. */
  readonly clean: () => Promise<void>
}

/** Collects the actions that end what runs now. SIGTERM and SIGINT also end everything. */
export function deferred(): Deferred {
  let actions: readonly (() => Promise<unknown>)[] = []
  const clean = async () => {
    const started = actions.toReversed()
    actions = []
    for (const action of started) await action().catch((error: unknown) => say(String(error)))
  }
  for (const [signal, code] of [
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const) {
    process.once(signal, async () => {
      say(`${signal}: ending everything`)
      await clean()
      process.exit(code)
    })
  }
  return {
    defer: (action) => {
      actions = [...actions, action]
    },
    clean,
  }
}

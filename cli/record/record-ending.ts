/** The end of a long operation, whatever causes the end. */
export interface Ending {
  /** @param trouble the error, if there is one */
  end(trouble?: unknown): void
  isOver(): boolean
  /** Resolves when the operation ends, or rejects with the error. */
  readonly ended: Promise<void>
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Creates an `Ending`. The operation ends on SIGINT, SIGTERM or SIGHUP, after `seconds`, when the
 * output can no longer be written, or when `end` is called. Later signals are ignored, so that the
 * process can finish the cleanup.
 */
export function openEnding(seconds: number | undefined): Ending {
  let isOver = false
  let settle: (trouble: unknown) => void = () => {}
  const ended = new Promise<void>((resolve, reject) => {
    settle = (trouble) => (trouble === undefined ? resolve() : reject(trouble))
  })
  // Prevents an unhandled rejection before a caller waits for `ended`.
  ended.catch(() => {})
  const end = (trouble?: unknown) => {
    isOver = true
    clearTimeout(timer)
    settle(trouble)
  }
  const stop = () => end()
  const timer = seconds === undefined ? undefined : setTimeout(stop, seconds * 1000)
  for (const signal of SIGNALS) process.on(signal, stop)
  // The handler of write errors in main.ts would exit immediately.
  process.stdout.removeAllListeners('error').on('error', stop)
  process.stderr.on('error', stop)
  return { end, isOver: () => isOver, ended }
}

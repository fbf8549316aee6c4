import type { Host, Interruption } from '../shared/host.ts'

/** The end of a long operation, whatever causes the end. */
export interface Ending {
  /** @param trouble the error, if there is one */
  end(trouble?: unknown): void
  /** Stops ignoring interruptions, after the cleanup. */
  release(): void
  isOver(): boolean
  /** Resolves when the operation ends, or rejects with the error. */
  readonly ended: Promise<void>
}

const INTERRUPTIONS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'output'] as const satisfies Interruption[]

/**
 * Creates an `Ending`. The operation ends on SIGINT, SIGTERM or SIGHUP, after `seconds`, when the
 * output can no longer be written, or when `end` is called. Until `release` is called, later
 * signals are ignored, so that the process can finish the cleanup.
 */
export function openEnding(
  seconds: number | undefined,
  { onInterruption }: Pick<Host, 'onInterruption'>,
): Ending {
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
  const release = onInterruption(INTERRUPTIONS, stop)
  return { end, release, isOver: () => isOver, ended }
}

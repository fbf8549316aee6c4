/** The end of something that lasts, for whatever reason comes first. */
export interface Ending {
  /** @param trouble what is wrong, if the end is not a good one */
  end(trouble?: unknown): void
  isOver(): boolean
  /** Resolves at the end, and rejects with the trouble. */
  readonly ended: Promise<void>
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Ends on a signal, after some time, when nobody reads the output any more, or when it is told to. From then on
 * signals change nothing: what has to be done at the end of the process is done.
 */
export function openEnding(seconds: number | undefined): Ending {
  let isOver = false
  let settle: (trouble: unknown) => void = () => {}
  const ended = new Promise<void>((resolve, reject) => {
    settle = (trouble) => (trouble === undefined ? resolve() : reject(trouble))
  })
  // Whoever comes to wait for it hears of it; until then nobody need.
  ended.catch(() => {})
  const end = (trouble?: unknown) => {
    isOver = true
    clearTimeout(timer)
    settle(trouble)
  }
  const stop = () => end()
  const timer = seconds === undefined ? undefined : setTimeout(stop, seconds * 1000)
  for (const signal of SIGNALS) process.on(signal, stop)
  // The command as a whole would exit at once.
  process.stdout.removeAllListeners('error').on('error', stop)
  process.stderr.on('error', stop)
  return { end, isOver: () => isOver, ended }
}

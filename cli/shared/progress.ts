import { styleText } from 'node:util'
import { hasColours } from './output.ts'
import type { Session } from './session.ts'

export interface Progress {
  readonly show: (done: number, all: number, words: string) => void
  readonly clear: () => void
}

const WIDTH = 24

const NO_PROGRESS: Progress = { show: () => {}, clear: () => {} }

/** Prints a line about the progress whenever this time has passed since the last line. */
function startLines(everyMs: number, say: Session['say']): Progress {
  let last = performance.now()
  return {
    clear: () => {},
    show: (done, all, words) => {
      const now = performance.now()
      if (done === all || now - last < everyMs) return
      last = now
      say(`${done}/${all} logs, ${words}`)
    },
  }
}

/**
 * Shows a progress bar on standard error if it is a terminal, otherwise a line now and then.
 *
 * @param lineMs the milliseconds between two lines; undefined for no lines
 */
export function startProgress(
  { stderr, environment, say }: Pick<Session, 'stderr' | 'environment' | 'say'>,
  lineMs?: number,
): Progress {
  if (!stderr.isTTY) return lineMs === undefined ? NO_PROGRESS : startLines(lineMs, say)
  const isColoured = hasColours(stderr, environment)
  const clear = () => {
    stderr.clearLine(0)
    stderr.cursorTo(0)
  }
  return {
    clear,
    show: (done, all, words) => {
      const filled = all === 0 ? 0 : Math.floor((WIDTH * done) / all)
      const blocks = '█'.repeat(filled)
      const bar = isColoured ? styleText('green', blocks, { validateStream: false }) : blocks
      const line = `${'░'.repeat(WIDTH - filled)} ${done}/${all} logs, ${words}`
      clear()
      stderr.write(`${bar}${line.slice(0, (stderr.columns || 80) - filled - 1)}`)
    },
  }
}

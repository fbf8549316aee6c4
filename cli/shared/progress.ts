import { styleText } from 'node:util'
import { say } from './output.ts'

export interface Progress {
  readonly show: (done: number, all: number, words: string) => void
  readonly clear: () => void
}

const WIDTH = 24

const NO_PROGRESS: Progress = { show: () => {}, clear: () => {} }

/** Prints a line about the progress whenever this time has passed since the last line. */
function startLines(everyMs: number): Progress {
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
export function startProgress(lineMs?: number): Progress {
  const { stderr } = process
  if (!stderr.isTTY) return lineMs === undefined ? NO_PROGRESS : startLines(lineMs)
  const clear = () => {
    stderr.clearLine(0)
    stderr.cursorTo(0)
  }
  return {
    clear,
    show: (done, all, words) => {
      const filled = all === 0 ? 0 : Math.floor((WIDTH * done) / all)
      const bar = styleText('green', '█'.repeat(filled), { stream: stderr })
      const line = `${'░'.repeat(WIDTH - filled)} ${done}/${all} logs, ${words}`
      clear()
      stderr.write(`${bar}${line.slice(0, (stderr.columns || 80) - filled - 1)}`)
    },
  }
}

import { styleText } from 'node:util'

export interface Progress {
  readonly show: (done: number, all: number, words: string) => void
  readonly clear: () => void
}

const WIDTH = 24

/** Shows a progress bar on standard error if it is a terminal, otherwise nothing. */
export function startProgress(): Progress {
  const { stderr } = process
  if (!stderr.isTTY) return { show: () => {}, clear: () => {} }
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

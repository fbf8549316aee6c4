import { emitKeypressEvents } from 'node:readline'
import { styleText } from 'node:util'
import type { FrameLine, FrameSize, FrameSpan } from '../../src/runs/top/frame.ts'
import type { Key } from '../../src/runs/top/view.ts'
import type { InputStream } from '../shared/host.ts'
import { hasColours, terminalWidth } from '../shared/output.ts'
import type { Session } from '../shared/session.ts'

// These control sequences of ECMA-48 and xterm are supported by all common terminals. No terminal
// library is used: ink draws a whole frame again for each change, and blessed and terminal-kit are
// hardly maintained. The text of a frame is printable before it comes here.

/** Alternate screen, no cursor, no wrapping of long lines; `LEAVE` restores the previous state. */
const ENTER = '\u001b[?1049h\u001b[?25l\u001b[?7l'
const LEAVE = '\u001b[?7h\u001b[?25h\u001b[?1049l'
const CLEAR = '\u001b[2J'

const STYLES = {
  heading: 'bold',
  selected: 'inverse',
  minor: 'gray',
  doubtful: 'yellow',
  alarm: 'red',
} as const satisfies Record<NonNullable<FrameSpan['tone']>, unknown>

/** The terminal on standard output and standard input while `top` runs. */
export interface Screen {
  readonly size: () => FrameSize
  /** Draws a frame with one write, which contains only the lines that have changed. */
  readonly draw: (frame: readonly FrameLine[]) => void
  /** Restores the terminal. Further calls have no effect. */
  readonly close: () => void
}

export interface ScreenEvents {
  readonly onKey: (key: Key) => void
  readonly onResize: () => void
}

/** Reports whether standard output is a terminal that can move its cursor. */
export function hasScreen({ stdout, environment }: Session): boolean {
  return stdout.isTTY === true && environment.TERM !== 'dumb'
}

/**
 * Opens the alternate screen and reads keys. The terminal is also restored when the process exits
 * because of an error, and while it is suspended.
 */
export function openScreen(session: Session, { onKey, onResize }: ScreenEvents): Screen {
  const { stdout, environment } = session
  const isColoured = hasColours(stdout, environment)
  /** The lines on the screen; undefined if their places are not known. */
  let shown: readonly string[] | undefined
  const redraw = () => {
    shown = undefined
    onResize()
  }
  const { isEntered, enter, leave } = prepareTerminal(session, onKey)
  enter()
  stdout.on('resize', redraw)
  const endSuspension = handleSuspension({
    leave,
    enter: () => {
      leave()
      enter()
      redraw()
    },
  })
  const close = () => {
    process.off('exit', close)
    stdout.off('resize', redraw)
    endSuspension()
    leave()
  }
  process.once('exit', close)
  return {
    size: () => ({
      rows: (stdout.isTTY && stdout.rows) || 24,
      columns: terminalWidth(stdout) || 80,
    }),
    draw: (frame) => {
      if (!isEntered()) return
      const next = frame.map((line) =>
        line.map((span) => (isColoured ? styled(span) : span.text)).join(''),
      )
      const changes =
        shown === undefined ? CLEAR + changedLines([], next) : changedLines(shown, next)
      shown = next
      if (changes !== '') stdout.write(changes)
    },
    close,
  }
}

/** Returns functions that take the terminal and restore it; `leave` has no effect twice. */
function prepareTerminal({ stdin, stdout }: Session, onKey: ScreenEvents['onKey']) {
  let stopReading: (() => void) | undefined
  return {
    isEntered: () => stopReading !== undefined,
    enter: () => {
      stdout.write(ENTER)
      stopReading = readKeys(stdin, onKey)
    },
    leave: () => {
      if (stopReading === undefined) return
      stopReading()
      stopReading = undefined
      stdout.write(LEAVE)
    },
  }
}

/** Returns the text that writes the lines that differ, each at its place and after an erasure. */
function changedLines(shown: readonly string[], next: readonly string[]): string {
  return next
    .map((line, row) => (line === shown[row] ? '' : `\u001b[${row + 1};1H\u001b[K${line}`))
    .join('')
}

/** Reads keys in raw mode if standard input is a terminal, and returns a function that stops. */
function readKeys(stdin: InputStream, onKey: ScreenEvents['onKey']): () => void {
  if (!stdin.isTTY) return () => {}
  const press = (text: string | undefined, { name, ctrl }: Omit<Key, 'text'>) => {
    if (ctrl === true && name === 'z') suspend()
    else onKey({ name, ctrl, text: text ?? '' })
  }
  emitKeypressEvents(stdin)
  stdin.setRawMode(true)
  stdin.on('keypress', press).resume()
  return () => {
    stdin.off('keypress', press)
    stdin.setRawMode(false)
    stdin.pause()
  }
}

function styled({ text, tone }: FrameSpan): string {
  return tone === undefined ? text : styleText(STYLES[tone], text, { validateStream: false })
}

/** The functions that a suspension calls. */
interface SuspendedScreen {
  /** Restores the terminal for the shell. */
  readonly leave: () => void
  /** Takes the terminal again, whose settings the shell may have changed. */
  readonly enter: () => void
}

/** If the process still runs after this many milliseconds, the kernel does not stop it. */
const UNSTOPPED_MS = 100

/**
 * Restores the terminal before SIGTSTP stops the process, and takes it again after SIGCONT. The
 * kernel does not stop a process that no shell could continue (POSIX: an orphaned process group);
 * then the terminal is taken again a moment later.
 *
 * @returns a function that removes the signal handlers
 */
function handleSuspension({ leave, enter }: SuspendedScreen): () => void {
  let isSuspended = false
  let timer: NodeJS.Timeout | undefined
  const suspend = () => {
    leave()
    isSuspended = true
    // Without a listener, the signal stops the process.
    process.off('SIGTSTP', suspend)
    process.kill(process.pid, 'SIGTSTP')
    timer = setTimeout(() => setImmediate(resumeOnce), UNSTOPPED_MS)
  }
  const resume = () => {
    clearTimeout(timer)
    if (isSuspended) process.on('SIGTSTP', suspend)
    isSuspended = false
    enter()
  }
  const resumeOnce = () => {
    if (isSuspended) resume()
  }
  process.on('SIGTSTP', suspend)
  process.on('SIGCONT', resume)
  return () => {
    isSuspended = false
    clearTimeout(timer)
    process.off('SIGTSTP', suspend)
    process.off('SIGCONT', resume)
  }
}

/** Suspends all processes of the process group, as Ctrl-Z does outside of raw mode. */
function suspend(): void {
  if (process.platform !== 'win32') process.kill(0, 'SIGTSTP')
}

import { PassThrough } from 'node:stream'
import type { ReadStream } from 'node:tty'
import xterm from '@xterm/headless'
import type { Test } from 'tap'
import { runCommand } from '../../../cli/run-command.ts'
import { until } from '../../until.ts'
import { createHost, terminalEnvironment, terminalStream } from '../host.ts'

/** A command in the process of the test, with a terminal whose screen xterm.js draws. */
export interface Terminal {
  /** The lines of the screen, without blanks at their ends. */
  readonly screen: () => Promise<readonly string[]>
  /** Waits until the text of the screen matches, and returns the text. */
  readonly shows: (pattern: RegExp) => Promise<string>
  /** All text that the command has written. */
  readonly written: () => string
  readonly press: (keys: string) => void
  readonly resize: (columns: number, rows: number) => void
  /** Whether the alternate screen is shown. */
  readonly isAlternate: () => boolean
  /** Waits for the end of the command. */
  readonly end: () => Promise<{ readonly code: number | null }>
}

export interface TerminalSize {
  readonly columns: number
  readonly rows: number
}

/**
 * Runs the command in a terminal of the test. process-terminal.ts starts a process in a real
 * terminal.
 *
 * @param more more environment variables
 */
export async function openTerminal(
  t: Test,
  args: readonly string[],
  size: TerminalSize = { columns: 120, rows: 24 },
  more: Readonly<Record<string, string>> = {},
): Promise<Terminal> {
  const drawn = drawScreen(size)
  const stdout = terminalStream(size, (chunk, _encoding, done) => {
    drawn.write(chunk)
    done()
  })
  const keys = new PassThrough()
  const stdin = Object.assign(keys, { isTTY: true, setRawMode: () => {} }) as unknown as ReadStream
  const host = createHost({ environment: { ...terminalEnvironment(), ...more } })
  const ending = runCommand(args, { ...host, stdin, stdout, stderr: stdout })
  t.teardown(async () => {
    host.interrupt('SIGTERM')
    await ending
  })
  return {
    ...drawn,
    press: (text) => keys.write(text),
    resize: (columns, rows) => {
      drawn.setSize({ columns, rows })
      Object.assign(stdout, { columns, rows }).emit('resize')
    },
    end: async () => ({ code: await ending }),
  }
}

/** Returns a screen, and functions that write to it and read it. */
export function drawScreen({ columns, rows }: TerminalSize) {
  // A line feed also returns the carriage, as the driver of a real terminal does.
  const options = { cols: columns, rows, allowProposedApi: true, convertEol: true }
  const terminal = new xterm.Terminal(options)
  const decoder = new TextDecoder()
  const texts: string[] = []
  const screen = () => readScreen(terminal)
  return {
    write: (chunk: Uint8Array) => {
      const text = decoder.decode(chunk, { stream: true })
      texts.push(text)
      terminal.write(text)
    },
    setSize: (size: TerminalSize) => terminal.resize(size.columns, size.rows),
    screen,
    shows: (pattern: RegExp) => untilShown(screen, pattern),
    written: () => texts.join(''),
    isAlternate: () => terminal.buffer.active.type === 'alternate',
  }
}

async function readScreen(terminal: InstanceType<typeof xterm.Terminal>) {
  await new Promise<void>((resolve) => terminal.write('', resolve))
  const { active } = terminal.buffer
  return Array.from({ length: terminal.rows }, (_, row) =>
    (active.getLine(active.viewportY + row)?.translateToString(true) ?? '').trimEnd(),
  )
}

async function untilShown(screen: Terminal['screen'], pattern: RegExp): Promise<string> {
  let text = ''
  const patience = until(
    `the screen matches ${pattern}`,
    async () => {
      text = (await screen()).join('\n')
      return pattern.test(text)
    },
    { patienceMs: 60_000 },
  )
  await patience.catch((error) => {
    throw new Error(`${error.message}; the screen:\n${text}`)
  })
  return text
}

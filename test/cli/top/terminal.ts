import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import xterm from '@xterm/headless'
import type { Test } from 'tap'
import { until } from '../../until.ts'

const MAIN = fileURLToPath(new URL('../../../cli/main.ts', import.meta.url))

/** A command in its own terminal (a pty), whose screen xterm.js draws. */
export interface Terminal {
  /** The lines of the screen, without blanks at their ends. */
  readonly screen: () => Promise<readonly string[]>
  /** Waits until the text of the screen matches, and returns the text. */
  readonly shows: (pattern: RegExp) => Promise<string>
  /** All bytes that the command has written. */
  readonly written: () => string
  readonly press: (keys: string) => void
  readonly resize: (columns: number, rows: number) => void
  /** Sends a signal to the command. */
  readonly kill: (signal: NodeJS.Signals) => void
  /** Waits until the command is stopped, and returns the settings of the terminal (`stty -g`). */
  readonly stopped: () => Promise<string>
  /** Continues the command with the shell's `fg`. */
  readonly foreground: () => void
  /** Whether the alternate screen is shown. */
  readonly isAlternate: () => boolean
  /** Waits for the end of the command. */
  readonly end: () => Promise<EndOfTerminal>
}

export interface EndOfTerminal {
  readonly code: number | null
  /** The settings of the terminal (`stty -g`) before and after the command. */
  readonly before: string
  readonly after: string
}

export interface TerminalSize {
  readonly columns: number
  readonly rows: number
}

/**
 * Starts the command in a terminal. `script` of util-linux creates the pty, so no native module is
 * needed. `stty` sets the size of the terminal, and the kernel then sends SIGWINCH.
 *
 * @param env more environment variables
 */
export async function openTerminal(
  t: Test,
  args: readonly string[],
  { columns, rows }: TerminalSize = { columns: 120, rows: 24 },
  more: Readonly<Record<string, string>> = {},
): Promise<Terminal> {
  const folder = t.testdir({})
  const file = (name: string) => join(folder, name)
  const words = [process.execPath, MAIN, ...args].map(quoted).join(' ')
  const command = scriptOf(words, file, { columns, rows })
  const { CI: _, FORCE_COLOR: __, NO_COLOR: ___, NODE_DISABLE_COLORS: ____, ...env } = process.env
  const child = spawn('script', ['-qefc', command, '/dev/null'], {
    // `script` runs the command in the shell that SHELL names.
    env: { ...env, SHELL: '/bin/sh', TERM: 'xterm-256color', ...more },
  })
  const terminal = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true })
  const texts: string[] = []
  child.stdout.setEncoding('utf8').on('data', (text) => {
    texts.push(text)
    terminal.write(text)
  })
  const closed = once(child, 'close')
  const read = (name: string) => readFileSync(file(name), 'utf8').trim()
  const screen = () => readScreen(terminal)
  t.teardown(() => child.kill())
  return {
    screen,
    shows: (pattern) => untilShown(screen, pattern),
    written: () => texts.join(''),
    press: (keys) => child.stdin.write(keys),
    resize: (columns, rows) => {
      terminal.resize(columns, rows)
      setSize(read('tty'), { columns, rows })
    },
    kill: (signal) => process.kill(Number(read('pid')), signal),
    stopped: async () => {
      await until('the command is stopped', async () => {
        return existsSync(file('stopped')) && read('stopped') !== ''
      })
      return read('stopped')
    },
    foreground: () => writeFileSync(file('continue'), ''),
    isAlternate: () => terminal.buffer.active.type === 'alternate',
    end: async () => {
      const [code] = await closed
      await screen()
      return { code, before: read('before'), after: read('after') }
    },
  }
}

/** Returns the script of the shell, which writes its observations to files. */
function scriptOf(
  words: string,
  file: (name: string) => string,
  { columns, rows }: TerminalSize,
): string {
  return [
    `stty rows ${rows} cols ${columns}`,
    `stty -g > ${quoted(file('before'))}`,
    `tty > ${quoted(file('tty'))}`,
    // With job control, the shell goes on when the command is stopped.
    'set -m',
    `sh -c 'echo $$ > "$0"; exec "$@"' ${quoted(file('pid'))} ${words}`,
    'code=$?',
    // In a pipe, `jobs` of dash would print nothing, because it would run in another shell.
    `jobs > ${quoted(file('jobs'))}`,
    `if grep -qi stopped ${quoted(file('jobs'))}; then stty -g > ${quoted(file('stopped'))}`,
    `while [ ! -e ${quoted(file('continue'))} ]; do sleep 0.05; done; fg > /dev/null; code=$?; fi`,
    `stty -g > ${quoted(file('after'))}`,
    'exit $code',
  ].join('; ')
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

function setSize(tty: string, { columns, rows }: TerminalSize): void {
  const size = ['-F', tty, 'rows', `${rows}`, 'cols', `${columns}`]
  const { status, stderr } = spawnSync('stty', size, { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`
}

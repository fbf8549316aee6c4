import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { until } from '../../until.ts'
import { terminalEnvironment } from '../host.ts'
import { drawScreen, type Terminal, type TerminalSize } from './terminal.ts'

const MAIN = fileURLToPath(new URL('../../../cli/main.ts', import.meta.url))

/** A command in a process and a terminal (a pty) of its own, whose screen xterm.js draws. */
export interface ProcessTerminal extends Terminal {
  /** Sends a signal to the command. */
  readonly kill: (signal: NodeJS.Signals) => void
  /** Waits until the command is stopped, and returns the settings of the terminal (`stty -g`). */
  readonly stopped: () => Promise<string>
  /** Continues the command with the shell's `fg`. */
  readonly foreground: () => void
  /** Waits for the end of the command. */
  readonly end: () => Promise<EndOfTerminal>
}

export interface EndOfTerminal {
  readonly code: number | null
  /** The settings of the terminal (`stty -g`) before and after the command. */
  readonly before: string
  readonly after: string
}

/**
 * Starts the command in a terminal. `script` of util-linux creates the pty, so no native module is
 * needed. `stty` sets the size of the terminal, and the kernel then sends SIGWINCH.
 *
 * @param env more environment variables
 */
export async function openProcessTerminal(
  t: Test,
  args: readonly string[],
  { columns, rows }: TerminalSize = { columns: 120, rows: 24 },
  more: Readonly<Record<string, string>> = {},
): Promise<ProcessTerminal> {
  const folder = t.testdir({})
  const file = (name: string) => join(folder, name)
  const words = [process.execPath, MAIN, ...args].map(quoted).join(' ')
  const command = scriptOf(words, file, { columns, rows })
  const child = spawn('script', ['-qefc', command, '/dev/null'], {
    // `script` runs the command in the shell that SHELL names.
    env: { ...terminalEnvironment(), SHELL: '/bin/sh', ...more },
  })
  const drawn = drawScreen({ columns, rows })
  child.stdout.on('data', drawn.write)
  const closed = once(child, 'close')
  const read = (name: string) => readFileSync(file(name), 'utf8').trim()
  t.teardown(() => child.kill())
  return {
    ...drawn,
    press: (keys) => child.stdin.write(keys),
    resize: (columns, rows) => {
      drawn.setSize({ columns, rows })
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
    end: async () => {
      const [code] = await closed
      await drawn.screen()
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

function setSize(tty: string, { columns, rows }: TerminalSize): void {
  const size = ['-F', tty, 'rows', `${rows}`, 'cols', `${columns}`]
  const { status, stderr } = spawnSync('stty', size, { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`
}

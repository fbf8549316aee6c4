import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { until } from '../../until.ts'
import { run } from '../command.ts'

// The real shells source the scripts that `ridealong completion` prints. bash and zsh run in a
// terminal, in which the test presses the tab key. fish has a command that completes a line.

const MAIN = fileURLToPath(new URL('../../../cli/main.ts', import.meta.url))

/** Each row is a typed line and the completed line. */
const LINES: readonly (readonly [string, string])[] = [
  ['ridealong coll', 'ridealong collect'],
  ['ridealong collect --para', 'ridealong collect --parallel'],
  ['ridealong collect --output=j', 'ridealong collect --output=jsonl'],
  ['ridealong metrics pe', 'ridealong metrics perf-sysstat'],
  ['ridealong inject --metric io-sysstat,pe', 'ridealong inject --metric io-sysstat,perf-sysstat'],
  ['ridealong report lam', 'ridealong report lammps.jsonl'],
  ['ridealong report --to=lam', 'ridealong report --to=lammps.jsonl'],
  ['ridealong test ca', 'ridealong test cases/'],
  ['ridealong collect lam', 'ridealong collect lam'],
  ['ridealong collect mini', 'ridealong collect minicluster/'],
]

/** Returns the reason for which a test is skipped; false if the shell exists, or in CI. */
function why(shell: string): string | false {
  const isThere = spawnSync(shell, ['-c', 'true']).status === 0
  if (isThere || process.env.CI === 'true') return false
  return `no ${shell} on this machine: apt-get install ${shell}`
}

/** Creates a folder with files to complete, the completion script, and a program `ridealong`. */
async function workplace(t: Test, shell: string): Promise<string> {
  const folder = t.testdir({ bin: {}, cases: {}, 'lammps.jsonl': '', 'cases.txt': '' })
  const { code, out } = await run(['completion', shell])
  t.equal(code, 0)
  writeFileSync(join(folder, 'script'), out)
  const program = `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`
  writeFileSync(join(folder, 'bin/ridealong'), program, { mode: 0o755 })
  return folder
}

function environment(folder: string): NodeJS.ProcessEnv {
  const { FORCE_COLOR: _, ...env } = process.env
  return { ...env, HOME: folder, TERM: 'dumb', PATH: `${join(folder, 'bin')}:${env.PATH}` }
}

/** Starts a shell in a terminal. The test sends keys to the terminal. */
function openTerminal(folder: string, shell: string) {
  const options = { cwd: folder, env: environment(folder) }
  const script = spawn('script', ['-qefc', shell, '/dev/null'], options)
  const { stdin, stdout } = script
  let shown = ''
  stdout.on('data', (piece) => {
    shown += piece
  })
  let count = 0
  return {
    /** Sends keys, inserts `echo` at the start of the line, and returns the output of echo. */
    async enter(keys: string): Promise<string> {
      count += 1
      const printed = new RegExp(`^DONE${count}: ?(.*?) *\r?$`, 'm')
      // The terminal also shows the typed line. Only the output of echo contains DONE without
      // quotes.
      stdin.write(`${keys}${START_OF_LINE}echo "D"ONE${count}: \r`)
      const isPrinted = () => printed.test(shown)
      await until(`${keys} is completed`, isPrinted, { patienceMs: 120_000 })
      return printed.exec(shown)?.[1] ?? ''
    },
    press: (keys: string) => stdin.write(keys),
    /** Ends the shell, which writes its history to the folder, and waits until it has ended. */
    async close(): Promise<void> {
      const ended = once(script, 'exit')
      stdin.end('exit\r')
      await ended
    },
  }
}

const START_OF_LINE = '\u0001'
const DELETE_LINE = '\u0001\u000b'

const TERMINALS = [
  ['bash', 'bash --norc --noprofile -i', 'set -o emacs'],
  [
    'zsh',
    'zsh -f -i',
    'bindkey -e; unsetopt autoremoveslash; autoload -Uz compinit && compinit -D -u',
  ],
] as const

for (const [shell, command, prepare] of TERMINALS) {
  const options = { skip: why(shell), timeout: 600_000 }
  t.test(`${shell} completes verbs, options, choices, metrics and files`, options, async (t) => {
    const folder = await workplace(t, shell)
    const terminal = openTerminal(folder, command)
    terminal.press(`${prepare}; source ./script\r`)
    for (const [line, completed] of LINES) {
      t.equal(await terminal.enter(`${line}\t`), completed)
    }
    const kind = 'ridealong collect mini'
    t.equal(await terminal.enter(`${kind}\tlammps`), 'ridealong collect minicluster/lammps')
    terminal.press(`ridealong report $(touch ran) la\t${DELETE_LINE}`)
    t.equal(await terminal.enter('the line is deleted'), 'the line is deleted')
    t.notOk(existsSync(join(folder, 'ran')), 'completion does not run a command in the typed line')
    await terminal.close()
  })
}

t.test(
  'fish completes verbs, options, choices, metrics and files',
  { skip: why('fish') },
  async (t) => {
    const folder = await workplace(t, 'fish')
    const words = (line: string) => {
      const args = ['--no-config', '-c', 'source ./script; complete -C $argv[1]', line]
      const { stdout } = spawnSync('fish', args, {
        cwd: folder,
        env: environment(folder),
        encoding: 'utf8',
      })
      return stdout.split('\n').flatMap((word) => word.split('\t')[0] || [])
    }
    for (const [line, completed] of LINES) {
      const last = completed.split(' ').at(-1)
      t.strictSame(words(line), line === completed ? [] : [last], line)
    }
    words('ridealong report (touch ran) la')
    t.notOk(existsSync(join(folder, 'ran')), 'completion does not run a command in the typed line')
  },
)

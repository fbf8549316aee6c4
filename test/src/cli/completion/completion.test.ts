import { spawn, spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { until } from '../../../until.ts'
import { run } from '../command.ts'

// The scripts are sourced by the real shells, which complete lines as if a user pressed the tab
// key. bash and zsh run in a terminal, and fish has a command for completion.

const MAIN = fileURLToPath(new URL('../../../../src/cli/main.ts', import.meta.url))

/** Typed lines, and the completed lines. */
const LINES: readonly (readonly [string, string])[] = [
  ['ridealong coll', 'ridealong collect'],
  ['ridealong collect --para', 'ridealong collect --parallel'],
  ['ridealong collect --output=j', 'ridealong collect --output=jsonl'],
  ['ridealong metrics pe', 'ridealong metrics perf-sysstat'],
  ['ridealong inject --metrics io-sysstat,pe', 'ridealong inject --metrics io-sysstat,perf-sysstat'],
  ['ridealong report lam', 'ridealong report lammps.jsonl'],
  ['ridealong report --to=lam', 'ridealong report --to=lammps.jsonl'],
  ['ridealong test ca', 'ridealong test cases/'],
  ['ridealong collect lam', 'ridealong collect lam'],
]

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

/** A shell in a terminal, to which the test sends keys. */
function openTerminal(folder: string, shell: string) {
  const options = { cwd: folder, env: environment(folder) }
  const { stdin, stdout } = spawn('script', ['-qefc', shell, '/dev/null'], options)
  let shown = ''
  stdout.on('data', (piece) => {
    shown += piece
  })
  let count = 0
  return {
    /** Presses keys, puts an `echo` before the line, and returns the output of this command. */
    async enter(keys: string): Promise<string> {
      count += 1
      const printed = new RegExp(`^DONE${count}: ?(.*?) *\r?$`, 'm')
      // The terminal shows the quotes of the line, but the output of the command does not contain
      // them.
      stdin.write(`${keys}${START_OF_LINE}echo "D"ONE${count}: \r`)
      const isPrinted = () => printed.test(shown)
      await until(`${keys} is completed`, isPrinted, { patienceMs: 120_000 })
      return printed.exec(shown)?.[1] ?? ''
    },
    press: (keys: string) => stdin.write(keys),
    close: () => stdin.end('exit\r'),
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
    terminal.press(`ridealong report $(touch ran) la\t${DELETE_LINE}`)
    t.equal(await terminal.enter('the line is deleted'), 'the line is deleted')
    t.notOk(existsSync(join(folder, 'ran')), 'no typed command is run')
    terminal.close()
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
    t.notOk(existsSync(join(folder, 'ran')), 'no typed command is run')
  },
)

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { runCommand } from '../../cli/run-command.ts'
import { createHost, type HostOptions, plainEnvironment, terminalEnvironment } from './host.ts'

const MAIN = fileURLToPath(new URL('../../cli/main.ts', import.meta.url))

/** The result of a command. */
export interface Outcome {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** Runs `ridealong` with these arguments in this process until it ends. */
export async function run(
  args: readonly string[],
  input: HostOptions['input'] = '',
  options: Omit<HostOptions, 'input'> = {},
): Promise<Outcome> {
  const host = createHost({ ...options, input })
  const code = await runCommand(args, host)
  return { code, out: host.out(), err: host.err() }
}

/** Starts `ridealong` with these arguments as a process. Its standard streams are pipes. */
export function start(args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [MAIN, ...args], { env: plainEnvironment() })
}

/** Runs `ridealong` with these arguments as a process until it ends. */
export async function runProcess(args: readonly string[], input = ''): Promise<Outcome> {
  const child = start(args)
  const { stdin, stdout, stderr } = child
  if (!stdin || !stdout || !stderr) throw new Error('the standard streams are not pipes')
  // A command that does not read its input may end before all of the input is written.
  stdin.on('error', () => {})
  stdin.end(input)
  const ended = once(child, 'close')
  const [out, err] = await Promise.all([text(stdout), text(stderr)])
  const [code] = await ended
  return { code, out, err }
}

/**
 * Runs `ridealong` in this process until it ends, with a terminal that shows standard output and
 * standard error.
 *
 * @param columns the width of the terminal
 * @param more environment variables to set
 */
export async function runInTerminal(
  args: readonly string[],
  columns = 200,
  more: Readonly<Record<string, string>> = {},
): Promise<Omit<Outcome, 'err'>> {
  const host = createHost({ columns, environment: { ...terminalEnvironment(), ...more } })
  return { code: await runCommand(args, host), out: host.out() }
}

/** Runs `ridealong` as a process in a terminal of its own (a pty). */
export async function runProcessInTerminal(
  args: readonly string[],
  columns = 200,
): Promise<Omit<Outcome, 'err'>> {
  const words = [process.execPath, MAIN, ...args].map(
    (word) => `'${word.replaceAll("'", `'\\''`)}'`,
  )
  // Without -opost, the terminal would replace line feeds in the output.
  const command = `stty -opost -echo rows 50 cols ${columns}; exec ${words.join(' ')}`
  const child = spawn('script', ['-qefc', command, '/dev/null'], { env: terminalEnvironment() })
  const ended = once(child, 'close')
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
  const [code] = await ended
  if (err !== '') throw new Error(err)
  return { code, out }
}

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

/**
 * Runs a shell script as an observer until it has printed a number of rows, and then ends the
 * script with SIGTERM, as a kubelet does.
 *
 * @param env the variables that the observer has in its pod
 * @param before the words of a program that runs the shell
 * @returns the log
 */
export async function runObserver(
  script: string,
  rows: number,
  env: NodeJS.ProcessEnv = {},
  before: readonly string[] = [],
): Promise<string> {
  const [program = 'sh', ...args] = [...before, 'sh', script]
  const child = spawn(program, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'close')
  const lines: string[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line)
    if (lines.filter((one) => one.startsWith('{"time"')).length === rows) child.kill('SIGTERM')
  }
  const [code] = await ended
  if (code !== 0) throw new Error(`the observer exited with ${code}`)
  return `${lines.join('\n')}\n`
}

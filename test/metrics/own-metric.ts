import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

/**
 * Runs a shell script as an observer until it has printed a number of rows, and then ends the
 * script with SIGTERM, as a kubelet does.
 *
 * @param env the variables that the observer has in its pod
 * @returns the log
 */
export async function runObserver(
  script: string,
  rows: number,
  env: NodeJS.ProcessEnv = {},
): Promise<string> {
  const child = spawn('sh', [script], {
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

import { spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** A process that keeps running after the command that started it has ended. */
export interface Daemon {
  readonly name: string
  readonly pid: number
  /** The start time in ticks since boot, which distinguishes a later process with the same id. */
  readonly startTime: string
}

/**
 * Starts a program, and writes its output to logs/NAME.log in a folder.
 *
 * @param env the environment of the program; by default, that of this process
 */
export function start(
  folder: string,
  program: string,
  words: readonly string[],
  name = program.split('/').at(-1) ?? program,
  env: NodeJS.ProcessEnv = process.env,
): Daemon {
  mkdirSync(join(folder, 'logs'), { recursive: true })
  const log = openSync(join(folder, 'logs', `${name}.log`), 'a')
  const child = spawn(program, words, {
    cwd: folder,
    env,
    detached: true,
    stdio: ['ignore', log, log],
  })
  child.on('error', () => {})
  closeSync(log)
  child.unref()
  if (child.pid === undefined) throw new Error(`${program} does not start; is it installed?`)
  return { name, pid: child.pid, startTime: startTimeOf(child.pid) ?? '' }
}

/** Reports whether a daemon runs. A later process with the same id does not count. */
export function isRunning({ pid, startTime }: Daemon): boolean {
  return startTimeOf(pid) === startTime
}

const LAST_WORDS_MS = 15_000

/** Ends a daemon with SIGTERM, and with SIGKILL if it does not react. */
export async function stop(daemon: Daemon): Promise<void> {
  const end = performance.now() + LAST_WORDS_MS
  if (isRunning(daemon)) process.kill(daemon.pid, 'SIGTERM')
  while (isRunning(daemon)) {
    if (performance.now() > end) process.kill(daemon.pid, 'SIGKILL')
    await sleep(50)
  }
}

/** Returns field 22 of /proc/PID/stat (proc(5)); undefined if the process has ended. */
function startTimeOf(pid: number): string | undefined {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
    return fields[0] === 'Z' ? undefined : fields[19]
  } catch {
    return undefined
  }
}

import { spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** A process that outlives the command which started it. */
export interface Daemon {
  readonly name: string
  readonly pid: number
  /** When it started, in ticks since boot: with it a number that was given again is told apart. */
  readonly startTime: string
}

/** Starts a program whose output goes to logs/NAME.log in a folder. */
export function start(
  folder: string,
  program: string,
  words: readonly string[],
  name = program.split('/').at(-1) ?? program,
): Daemon {
  mkdirSync(join(folder, 'logs'), { recursive: true })
  const log = openSync(join(folder, 'logs', `${name}.log`), 'a')
  const child = spawn(program, words, { cwd: folder, detached: true, stdio: ['ignore', log, log] })
  child.on('error', () => {})
  closeSync(log)
  child.unref()
  if (child.pid === undefined) throw new Error(`${program} does not start; is it installed?`)
  return { name, pid: child.pid, startTime: startTimeOf(child.pid) ?? '' }
}

/** Whether a daemon runs; another process that was given its number does not count. */
export function isRunning({ pid, startTime }: Daemon): boolean {
  return startTimeOf(pid) === startTime
}

const LAST_WORDS_MS = 15_000

/** Ends a daemon: SIGTERM, and SIGKILL for one that does not listen. */
export async function stop(daemon: Daemon): Promise<void> {
  const end = performance.now() + LAST_WORDS_MS
  if (isRunning(daemon)) process.kill(daemon.pid, 'SIGTERM')
  while (isRunning(daemon)) {
    if (performance.now() > end) process.kill(daemon.pid, 'SIGKILL')
    await sleep(50)
  }
}

/** Field 22 of /proc/PID/stat (proc(5)); nothing for a process that has ended. */
function startTimeOf(pid: number): string | undefined {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
    return fields[0] === 'Z' ? undefined : fields[19]
  } catch {
    return undefined
  }
}

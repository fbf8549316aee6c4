import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { until as untilTrue } from '../../until.ts'
import { openFolder, type Pod, type Running, until } from '../pod.ts'
import { timepointsIn } from '../prerequisites.ts'

let program: string | undefined

/** Compiles crowd.c, and returns the path of the program. */
function compile(): string {
  const folder = openFolder('ridealong-crowd-')
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'crowd')
  const source = new URL('crowd.c', import.meta.url).pathname
  execFileSync('gcc', ['-O1', '-pthread', '-o', path, source])
  return path
}

/**
 * Starts a crowd of processes, or of processes with threads, in the container `app`.
 *
 * @returns the first process of the crowd, and the number of threads that the machine allowed
 */
export async function startCrowd(
  t: Test,
  { run }: Pod,
  processes: number,
  threads = 1,
): Promise<{ readonly app: Running; readonly count: number }> {
  program ??= compile()
  allowProcesses(t, processes * threads)
  const app = await run('app', [program, String(processes), String(threads)])
  await until(app, /^ready \d+\n/)
  const count = Number(/^ready (\d+)/.exec(app.log())?.[1])
  t.comment(`the machine allowed ${count} of ${processes * threads} threads`)
  return { app, count }
}

/** The process ids that the other programs of this machine need at most. */
const OTHERS = 30_000

/**
 * Raises `kernel.pid_max` until the end of the test if a crowd could take all process ids. The
 * crowd would then leave none for the observer and the test.
 */
function allowProcesses(t: Test, count: number): void {
  const file = '/proc/sys/kernel/pid_max'
  const before = readFileSync(file, 'utf8')
  if (Number(before) > count + OTHERS) return
  writeFileSync(file, String(count + OTHERS))
  t.teardown(() => writeFileSync(file, before))
}

/**
 * Waits until a log has this many more timepoints. A log of many megabytes is searched only every
 * two seconds.
 *
 * @throws if the observer ends first
 */
export async function moreTimepoints(watching: Running, more: number): Promise<void> {
  const last = timepointsIn(watching.log()) + more
  let isOver = false
  watching.ended.then(() => {
    isOver = true
  })
  const waiting = { patienceMs: 500_000, pauseMs: 2000 }
  const isThere = () => isOver || timepointsIn(watching.log()) >= last
  await untilTrue(`${more} timepoints`, isThere, waiting)
  if (isOver) throw new Error(`the observer ended: ${await watching.ended}`)
}

import type { Output } from '../../src/lib/output-format.ts'
import { pause } from '../../src/lib/pause.ts'
import { inOrder } from '../../src/runs/collect/gather.ts'
import { sourceName } from '../../src/runs/collect/observers.ts'
import type { WorkloadPods } from '../../src/runs/collect/workload-pods.ts'
import { startAssessor } from '../../src/runs/top/findings/assessment.ts'
import { orderLines } from '../../src/runs/top/order.ts'
import { buildLines } from '../../src/runs/top/pods.ts'
import { firstView } from '../../src/runs/top/view.ts'
import { EXIT, type ExitCode } from '../shared/errors.ts'
import type { LiveRun } from './live-run.ts'
import { type LogStream, readMoreNext, readOnce, type StreamOptions } from './log-streams.ts'
import { listNotices } from './notices.ts'
import { createOpeningGate } from './opening-gate.ts'
import { formatTop } from './output.ts'
import type { ShownTime } from './time-so-far.ts'
import type { TopOptions } from './top-options.ts'

/** The most logs that are read at a time. */
const MAX_AT_A_TIME = 32

/** The table, the notices about it, and the exit code. */
export interface OnceResult {
  readonly output: Output
  readonly notices: readonly string[]
  readonly code: ExitCode
}

/**
 * Reads the last two timepoints of each log and builds one table, with where the time of the run
 * went.
 */
export async function runOnce(
  found: WorkloadPods,
  run: LiveRun,
  { by, parallel, sort, output, time }: TopOptions & { readonly time: ShownTime | undefined },
): Promise<OnceResult> {
  const signal = new AbortController().signal
  const options = { apiserver: found.apiserver, gate: createOpeningGate(), signal }
  const started = run.streams().filter(({ hasStarted }) => hasStarted)
  const atATime = Math.min(parallel, MAX_AT_A_TIME)
  const fresh: LogStream[] = []
  const read = inOrder(started, atATime, (stream) => readTail(stream, options))
  for await (const { stream, isFresh } of read) {
    stream.isOver = stream.observer.state === 'ended'
    if (isFresh) fresh.push(stream)
  }
  if (fresh.length > 0) await pause(WRITTEN_MS)
  for await (const _ of inOrder(fresh, atATime, (stream) => readRest(stream, options)));
  const columns = run.columns()
  const now = Date.now()
  const assessment = startAssessor().assess(run.pods(), now)
  const all = buildLines(run.pods(), columns, by, { now, findings: assessment.findings })
  const lines = orderLines(all, columns, firstView(columns, by, sort))
  const missing = started.filter(({ problem }) => problem !== undefined)
  const unread = missing.map(({ observer, problem }) => {
    return `the log of ${sourceName(observer)} cannot be read: ${problem}`
  })
  // The notices in `unread` already name these logs.
  for (const stream of missing) stream.isGone = true
  return {
    output: formatTop({ lines, columns, by, time, assessment }, output),
    notices: [...unread, ...listNotices(run, found, undefined)],
    code: exitCode(started.length, missing.length),
  }
}

function exitCode(started: number, missing: number): ExitCode {
  if (missing === 0) return EXIT.ok
  return missing === started ? EXIT.trouble : EXIT.no
}

/**
 * If the last line is younger than this, the observer may still be writing its last timepoint, and
 * the log is read again after `WRITTEN_MS`. In milliseconds.
 */
const FRESH_MS = 5000
const WRITTEN_MS = 300

/** Reads the end of a log, and reports at once whether it is fresh. */
async function readTail(
  stream: LogStream,
  options: StreamOptions,
): Promise<{ readonly stream: LogStream; readonly isFresh: boolean }> {
  do await readOnce(stream, { ...options, follow: false })
  while (readMoreNext(stream))
  return { stream, isFresh: isFreshLog(stream) }
}

/**
 * Reports whether the last line of a log has just been written, so that other lines of the same
 * timepoint may follow. The line has the time of the cluster.
 */
function isFreshLog({ lines, observer, problem, clockAhead }: LogStream): boolean {
  if (observer.state !== 'running' || problem !== undefined) return false
  const since = Date.parse(lines.since() ?? '')
  return Math.abs(Date.now() + clockAhead - since) < FRESH_MS
}

/**
 * Reads the rest of the last timepoint. If another one has begun by now, it is not shown, because
 * it may also lack rows.
 */
async function readRest(stream: LogStream, options: StreamOptions): Promise<void> {
  const closed = stream.log.closedTimepoints()
  await readOnce(stream, { ...options, follow: false })
  if (stream.log.closedTimepoints() === closed) stream.log.settle()
}

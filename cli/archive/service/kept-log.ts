import { ApiError, isMissing } from '../../../src/cluster/api-error.ts'
import type { Apiserver } from '../../../src/cluster/apiserver.ts'
import { readStampedText } from '../../../src/cluster/logs.ts'
import { isTemporary } from '../../../src/cluster/repeat.ts'
import type { RunningObserver } from '../../../src/runs/collect/observers.ts'
import { readStampedLines, type StampedLines } from '../../../src/runs/top/stamped-lines.ts'
import type { KeptFacts, KeptLogs, KeptRun } from '../storage/kept-logs.ts'
import { addFailure, type Failures, NO_FAILURES } from './failures.ts'

/** A log that is kept on the volume until the rows of its run are stored. */
export interface KeptLog {
  readonly id: string
  readonly run: KeptRun
  readonly pod: KeptPod
  /** The last state of the observer. */
  observer: RunningObserver
  /** Whether the container has ended, or its pod is gone, so that the log grows no more. */
  isLast: boolean
  isGone: boolean
  isReading: boolean
  isDone: boolean
  /** Why a part of the log is missing; null if the log is whole. */
  problem: string | null
  /** When it is read again, in milliseconds since 1970. */
  dueAt: number
  /** The failures to read it. */
  failures: Failures
  /** Whether it was read since the container has ended. */
  wasReadLast: boolean
  /** When the last reading that succeeded began, in milliseconds since 1970; undefined if none. */
  readAt: number | undefined
  /** The position in the log; undefined before the text on the volume is measured. */
  position: Position | undefined
}

/** The facts about the pod of a log. */
export type KeptPod = Pick<KeptFacts, 'started' | 'images'>

interface Position {
  /** Whether the log was read after the next start of its container. */
  readonly isPrevious: boolean
  readonly lines: StampedLines
  /** The lines at the start of the log that are on the volume already, and are not read yet. */
  skipped: number
  /** The bytes and the lines on the volume. */
  bytes: number
  count: number
}

export function createKeptLog(
  id: string,
  run: KeptRun,
  { observer, pod }: { readonly observer: RunningObserver; readonly pod: KeptPod },
): KeptLog {
  return {
    id,
    run,
    pod,
    observer,
    isLast: false,
    isGone: false,
    isReading: false,
    isDone: false,
    problem: null,
    dueAt: 0,
    failures: NO_FAILURES,
    wasReadLast: false,
    readAt: undefined,
    position: undefined,
  }
}

export function factsOf({ observer, pod, isDone, problem }: KeptLog): KeptFacts {
  return { observer, ...pod, isDone, problem }
}

/** The most bytes of a log. Observers write less, and containers can write anything. */
const MAX_BYTES = 64 * 2 ** 20

/** The most characters of a response, in which each line begins with its time. */
const MAX_RECEIVED = 2 * MAX_BYTES

export interface ReadingOptions {
  readonly api: Apiserver
  readonly kept: KeptLogs
  /** The longest time of a reading, in milliseconds. */
  readonly readingMs: number
  readonly signal: AbortSignal
}

/** The result of a reading. */
export interface LogReading {
  /** The number of new lines. */
  readonly added: number
  /**
   * Why the reading ended: at the end of the log, because it took too long, or because the log is
   * too long.
   */
  readonly end: 'whole' | 'late' | 'too-long'
}

/**
 * Appends the new lines of a log to its text on the volume. The log is requested before the volume
 * is used, because its pod may be deleted within a second of its end.
 *
 * @throws ApiError, a network error, an error of the system, or an error if no line has ended in
 * the longest time of a reading. The next reading then begins after the last line that is on the
 * volume
 */
export async function readNewLines(log: KeptLog, options: ReadingOptions): Promise<LogReading> {
  const { api, kept, readingMs, signal } = options
  const until = performance.now() + readingMs
  const { isPrevious: previous } = log.observer
  const known = log.position?.isPrevious === previous ? log.position : undefined
  const lines = known?.lines ?? readStampedLines()
  lines.begin()
  const texts = readStampedText(api, log.observer, { since: lines.since(), previous, signal })
  const first = texts.next()
  first.catch(() => {})
  try {
    const position = known ?? (await prepare(log, lines, kept))
    log.position = position
    const response = { first: await first, texts, until }
    const reading = await appendNew(log, position, kept, response)
    if (reading.end === 'late' && reading.added === 0)
      throw new Error(`a line did not end within ${readingMs / 1000} s`)
    return reading
  } catch (error) {
    log.position = undefined
    throw error
  } finally {
    await texts.return(undefined)
  }
}

/**
 * Writes the facts about a log, and measures its text. After a restart of the archive, and after a
 * failure, the log is read from its start again. The log of a container that was started again
 * replaces its text: a reading between the start and its notice can have lines of the next log.
 */
async function prepare(log: KeptLog, lines: StampedLines, kept: KeptLogs): Promise<Position> {
  const { run, id, observer } = log
  const { isPrevious } = observer
  await kept.writeFacts(run, id, factsOf(log))
  if (isPrevious) return { isPrevious, lines, skipped: 0, bytes: 0, count: 0 }
  const { bytes, lines: count } = await kept.measure(run, id)
  return { isPrevious, lines, skipped: count, bytes, count }
}

interface Response {
  /** A log that does not exist must not leave an empty text, so its first part is there already. */
  readonly first: IteratorResult<string>
  readonly texts: AsyncIterator<string>
  /** When the reading ends, on the clock of `performance`. */
  readonly until: number
}

async function appendNew(
  { run, id }: KeptLog,
  position: Position,
  kept: KeptLogs,
  { first, texts, until }: Response,
): Promise<LogReading> {
  const before = position.count
  const file = await kept.open(run, id, position.bytes)
  let end: LogReading['end'] = 'whole'
  let received = 0
  try {
    for (let next = first; !next.done && end === 'whole'; next = await texts.next()) {
      const added = takeLines(position, next.value)
      if (added !== '') await file.append(added)
      received += next.value.length
      end = endAt(position.bytes, received, until)
    }
    await file.sync()
    return { added: position.count - before, end }
  } finally {
    await file.close()
  }
}

/** Returns why a reading ends after a part of a response; `whole` if it goes on. */
function endAt(kept: number, received: number, until: number): LogReading['end'] {
  if (kept > MAX_BYTES || received > MAX_RECEIVED) return 'too-long'
  return performance.now() > until ? 'late' : 'whole'
}

function takeLines(position: Position, text: string): string {
  let added = ''
  position.lines.push(text, (line) => {
    if (position.skipped > 0) {
      position.skipped -= 1
      return
    }
    added += `${line}\n`
    position.count += 1
  })
  position.bytes += Buffer.byteLength(added)
  return added
}

/** Why a log is not whole whose container was started again. */
export const RESTARTED = 'its container was restarted before its log was read to the end'
const GONE = 'its pod was deleted before its log was read to the end'
const TOO_LONG = `its log has more than ${MAX_BYTES / 2 ** 20} MiB; the rest was not kept`

/** Notes that a log was read. A log whose container has ended is read until it has no new lines. */
export function noteRead(log: KeptLog, { added, end }: LogReading, wasLast: boolean): void {
  if (log.isDone) return
  log.failures = NO_FAILURES
  if (end === 'too-long') finish(log, TOO_LONG)
  if (end !== 'whole') return
  if (wasLast && added === 0) finish(log, null)
  log.wasReadLast ||= wasLast
}

/**
 * Notes why a log could not be read.
 *
 * @returns whether it may be read later
 */
export function noteFailure(log: KeptLog, error: unknown, message: string, now: number): boolean {
  if (log.isDone) return false
  log.failures = addFailure(log.failures, now)
  const loss = lossBy(log, error)
  if (loss !== null) finish(log, log.wasReadLast ? null : loss)
  else if (log.isLast && !isMissing(error) && !isTemporary(error)) finish(log, message)
  return !log.isDone
}

/** Returns why a log does not exist any more; null if it may exist. */
function lossBy({ isGone, observer }: KeptLog, error: unknown): string | null {
  if (isGone && isMissing(error)) return GONE
  return observer.isPrevious && isRemoved(error) ? RESTARTED : null
}

/**
 * Reports whether the kubelet does not keep a log any more. For a container that it has removed, it
 * answers 400 (kubernetes pkg/kubelet/kubelet_pods.go, `validateContainerLogStatus`).
 */
function isRemoved(error: unknown): boolean {
  return error instanceof ApiError && [400, 404].includes(error.status)
}

/** Ends the reading of a log. @param problem why a part is missing; null if the log is whole */
export function finish(log: KeptLog, problem: string | null): void {
  log.isDone = true
  log.problem = problem
}

import { describeApiError } from '../../src/cluster/api-error.ts'
import type { Apiserver } from '../../src/cluster/apiserver.ts'
import { readStampedLog } from '../../src/cluster/logs.ts'
import type { RowsDescription } from '../../src/core/catalog.ts'
import { backoffMs, pause } from '../../src/lib/pause.ts'
import type { RunningObserver } from '../../src/runs/collect/observers.ts'
import { isRowPerLine, LINES_OF_TIMEPOINTS } from '../../src/runs/log/open-timepoint.ts'
import { type LiveLog, startLiveLog } from '../../src/runs/top/live-log.ts'
import type { LiveObserver } from '../../src/runs/top/pods.ts'
import { startTakers } from '../../src/runs/top/row-takers.ts'
import { readStampedLines, type StampedLines } from '../../src/runs/top/stamped-lines.ts'
import type { OpeningGate } from './opening-gate.ts'

/** The log of an observer, and the state of its connection. */
export interface LogStream extends LiveObserver {
  readonly description: RowsDescription
  /** The sections whose columns are shown. */
  readonly sections: ReadonlySet<string>
  log: LiveLog
  lines: StampedLines
  /** The number of lines to read at first; undefined for the whole log. */
  tail: number | undefined
  /** Whether a longer tail is read, because the first one was not enough. */
  hasLongTail: boolean
  /** The observer as the last list of pods shows it. */
  observer: RunningObserver
  /** Whether the log is followed now. */
  isFollowed: boolean
  /** Whether the pod is deleted. */
  isGone: boolean
  /** Why the connection broke, or the log cannot be read; undefined while it is read. */
  problem: string | undefined
  /** The number of new lines that were read. */
  taken: number
  /** The attempts without a new line since the last one that brought a line. */
  failures: number
  /** When the connection was opened, and when text last arrived, on the monotonic clock in ms. */
  openedAt: number
  arrivedAt: number
  /** Whether text has arrived since `settleStreams` last looked. */
  isUnsettled: boolean
  /** The version of the log when `settleStreams` last looked. */
  version: number
}

export interface StreamOptions {
  readonly apiserver: Apiserver
  readonly gate: OpeningGate
  readonly signal: AbortSignal
}

/**
 * @param sections the sections whose columns are shown
 * @param logs the number of logs of the run
 */
export function newStream(
  observer: RunningObserver,
  description: RowsDescription,
  { sections, logs }: { readonly sections: ReadonlySet<string>; readonly logs: number },
): LogStream {
  const metric = observer.container
  const takers = startTakers({ ...observer, metric }, description)
  takers.evidence.notePod(observer)
  return {
    metric,
    description,
    sections,
    isShown: sections.size > 0,
    ...takers,
    log: startLiveLog(description, takers.live, takers.evidence),
    lines: readStampedLines(),
    tail: tailOf(description, logs),
    hasLongTail: false,
    observer,
    hasStarted: observer.state !== 'waiting',
    isRead: false,
    isOver: false,
    seenAt: undefined,
    clockAhead: 0,
    isFollowed: false,
    isGone: false,
    problem: undefined,
    taken: 0,
    failures: 0,
    openedAt: 0,
    arrivedAt: 0,
    isUnsettled: false,
    version: 0,
  }
}

/**
 * The lines of all logs of which each line is a row that are read at first, and the most of one
 * log: with few logs, `top` begins with the findings and the efficiency of the last minutes.
 */
const ALL_LINES = 100_000
const MAX_LINES = 5000

/** Returns the number of lines to read at first. */
function tailOf(description: RowsDescription, logs: number): number {
  const least = LINES_OF_TIMEPOINTS[description.format]
  if (!isRowPerLine(description)) return least
  return Math.min(Math.max(Math.floor(ALL_LINES / logs), least), MAX_LINES)
}

/** How many times as many lines are read if these are not enough. */
const LONGER = 20

/** The pauses before a new attempt. */
const BACKOFF = { pauseMs: 500, longestPauseMs: 15_000 }

/** The failed attempts after which the log of a container that has ended is given up. */
const MAX_FAILURES = 3

/**
 * Follows a log until its container has ended, its pod is gone, or the signal is aborted. After a
 * connection breaks, waits for a moment that doubles with each attempt without a new line.
 *
 * @param onEnd is called when the log ends, so that the state of the pod can be looked up. It is
 * not called after a failed attempt, because the logs of a node that is down cause many of them
 */
export async function followStream(
  stream: LogStream,
  options: StreamOptions,
  onEnd: () => void,
): Promise<void> {
  const { signal } = options
  stream.isFollowed = true
  while (!signal.aborted && !stream.isOver) await followOnce(stream, options, onEnd)
  stream.isFollowed = false
}

async function followOnce(
  stream: LogStream,
  options: StreamOptions,
  onEnd: () => void,
): Promise<void> {
  const hadEnded = stream.observer.state === 'ended'
  const before = stream.taken
  await readOnce(stream, { ...options, follow: true })
  stream.failures = stream.taken > before ? 0 : stream.failures + 1
  if (hadEnded && readMoreNext(stream)) return
  if (stream.problem === undefined) onEnd()
  await pause(backoffMs(BACKOFF, stream.failures), options.signal)
  stream.isOver ||= hadEnded && isDone(stream)
}

/** Reports whether the log of a container that has ended was read to its end, or cannot be read. */
function isDone({ problem, failures }: LogStream): boolean {
  return problem === undefined || failures >= MAX_FAILURES
}

/**
 * Prepares to read more of the log if its tail does not have two whole timepoints, as after a long
 * summary or with many processes: first a longer tail, and then the whole log.
 *
 * @returns whether the log must be read again
 */
export function readMoreNext(stream: LogStream): boolean {
  const { tail, problem, log, description, sections, hasLongTail, live, evidence } = stream
  log.settle()
  if (tail === undefined || problem !== undefined || log.hasEnough(sections)) return false
  stream.tail = hasLongTail ? undefined : tail * LONGER
  stream.hasLongTail = true
  stream.lines = readStampedLines()
  live?.clear()
  evidence?.clear()
  stream.log = startLiveLog(description, live, evidence)
  return true
}

/**
 * Reads the log over one connection, from the last line that is known, and notes in the stream why
 * it could not be read to its end.
 */
export async function readOnce(
  stream: LogStream,
  { apiserver, gate, signal, follow }: StreamOptions & { readonly follow: boolean },
): Promise<void> {
  const { lines, log, observer, tail } = stream
  const take = (line: string, at: number) => {
    stream.taken += 1
    log.push(line, Number.isNaN(at) ? Date.now() : at)
  }
  stream.isRead = true
  const leave = await gate.enter(signal)
  lines.begin()
  try {
    await readStampedLog(apiserver, observer, {
      follow,
      signal,
      since: lines.since(),
      tailLines: tail,
      onOpen: (date) => {
        stream.problem = undefined
        stream.clockAhead = Number.isNaN(date) ? 0 : date - Date.now()
        stream.openedAt = performance.now()
        leave()
      },
      onText: (text) => {
        stream.arrivedAt = performance.now()
        stream.isUnsettled = true
        lines.push(text, take)
      },
    })
    stream.problem = undefined
  } catch (error) {
    stream.problem = describeApiError(error)
  } finally {
    leave()
  }
}

/** The milliseconds without text after which the lines of a timepoint are complete. */
const SETTLED_MS = 100

/** Milliseconds after the opening of a connection; text that arrives later was just written. */
const LIVE_MS = 1000

/** Reads the open timepoint of each log that has received no text for a moment. */
export function settleStreams(streams: Iterable<LogStream>, settledMs = SETTLED_MS): void {
  const now = performance.now()
  for (const stream of streams) {
    if (!stream.isUnsettled || now - stream.arrivedAt < settledMs) continue
    stream.isUnsettled = false
    stream.log.settle()
    const isNew = stream.log.version() !== stream.version
    stream.version = stream.log.version()
    if (isNew && stream.arrivedAt - stream.openedAt > LIVE_MS) stream.seenAt = Date.now()
  }
}

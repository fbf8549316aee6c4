import { describeApiError } from '../../../src/cluster/api-error.ts'
import type { Apiserver } from '../../../src/cluster/apiserver.ts'
import { systemMessage } from '../../../src/lib/error-message.ts'
import type { Backoff } from '../../../src/lib/pause.ts'
import type { RunningObserver } from '../../../src/runs/collect/observers.ts'
import type { RunPod } from '../../../src/runs/facts/pod-facts.ts'
import { createTurns, type Turns } from '../shares.ts'
import { type KeptFacts, type KeptLogs, type KeptRun, logId } from '../storage/kept-logs.ts'
import { pauseAfter } from './failures.ts'
import {
  createKeptLog,
  factsOf,
  finish,
  type KeptLog,
  noteFailure,
  noteRead,
  RESTARTED,
  readNewLines,
} from './kept-log.ts'

/** Reads the logs of observers to the volume. */
export interface LogKeeper {
  /** The number of logs that are not read to their end. */
  readonly unread: number
  /** Notes the state of the observers of a pod, and reads a log at once if its container ended. */
  note(run: KeptRun, pod: RunPod, observers: readonly RunningObserver[]): void
  /** Begins to read the logs that are due. */
  begin(): void
  /** Reports whether no log of a run is to be read any more. */
  isRead(key: string): boolean
  /** Returns the logs of a run that are not stored yet, by their ids. */
  logsOf(key: string): ReadonlyMap<string, KeptFacts>
  /** Returns the logs of each run with their texts on the volume, as far as they are not stored. */
  texts(): Iterable<readonly KeptLog[]>
  /** Notes that the rows of these logs are stored. */
  settle(key: string, stored: Iterable<string>): void
  /** Forgets the logs of a run. */
  forget(key: string): void
  /** Waits until nothing is read any more. */
  stop(): Promise<void>
}

export interface LogKeeperOptions {
  readonly api: Apiserver
  readonly kept: KeptLogs
  /** The time between two readings of a log that goes on, in milliseconds. */
  readonly readMs: number
  /** The longest time of a reading, in milliseconds. */
  readonly readingMs: number
  readonly failing: Backoff
  /** The time after which the log of a container that has ended is given up, in milliseconds. */
  readonly giveUpMs: number
  /** @param message why a log could not be read or kept */
  onFailure(namespace: string, message: string): void
}

/**
 * The most logs that are read at once, of containers that run and of containers that have ended,
 * whose pods may be deleted at any time. A namespace can have half of each, as long as no other one
 * reads.
 */
const PARALLEL_RUNNING = 32
const PARALLEL_ENDED = 96

interface RunLogs {
  readonly logs: Map<string, KeptLog>
  /** The ids of the logs whose rows are stored. */
  readonly stored: Set<string>
}

interface KeeperState {
  readonly runs: Map<string, RunLogs>
  /** The logs whose container has ended, and the other ones that are due. */
  readonly urgent: Turns<KeptLog>
  readonly due: Turns<KeptLog>
  readonly reading: Set<Promise<void>>
}

export function createLogKeeper(options: LogKeeperOptions): LogKeeper {
  const namespaceOf = ({ run }: KeptLog) => run.namespace
  const urgent = createTurns(PARALLEL_ENDED, namespaceOf)
  const due = createTurns(PARALLEL_RUNNING, namespaceOf)
  const state: KeeperState = { runs: new Map(), urgent, due, reading: new Set() }
  const { runs } = state
  const stopped = new AbortController()
  const pump = () => readDue(state, options, stopped.signal)
  return {
    get unread() {
      return [...runs.values()].reduce((sum, own) => sum + unreadOf(own).length, 0)
    },
    note(run, pod, observers) {
      for (const observer of observers) noteObserver(state, run, pod, observer)
      pump()
    },
    begin() {
      queueDue(state, Date.now())
      pump()
    },
    isRead: (key) => unreadOf(runs.get(key) ?? NO_LOGS).length === 0,
    logsOf: (key) => {
      const { logs } = runs.get(key) ?? NO_LOGS
      return new Map([...logs.values()].map((log) => [log.id, factsOf(log)]))
    },
    texts: () => [...runs.values()].map(({ logs }) => [...logs.values()]),
    settle: (key, stored) => settleLogs(runs.get(key), stored),
    forget(key) {
      for (const log of runs.get(key)?.logs.values() ?? []) finish(log, null)
      runs.delete(key)
    },
    async stop() {
      stopped.abort()
      await Promise.all(state.reading)
    },
  }
}

function unreadOf({ logs }: RunLogs): readonly KeptLog[] {
  return [...logs.values()].filter(({ isDone }) => !isDone)
}

function queueDue({ runs, urgent, due }: KeeperState, now: number): void {
  const unread = [...runs.values()].flatMap(unreadOf)
  for (const log of unread)
    if (log.dueAt <= now && !log.isReading) (log.isLast ? urgent : due).add(log)
}

function settleLogs(own: RunLogs | undefined, stored: Iterable<string>): void {
  if (own === undefined) return
  for (const id of stored) {
    own.logs.delete(id)
    own.stored.add(id)
  }
}

/** Begins to read logs, as many as may be read at once. */
function readDue(state: KeeperState, options: LogKeeperOptions, signal: AbortSignal): void {
  const { urgent, due } = state
  // A log that was due when its container ended waits twice, and must not be read twice.
  const start = (turns: Turns<KeptLog>, other: Turns<KeptLog>) => {
    for (let log = turns.take(); log !== undefined; log = turns.take()) {
      other.remove(log)
      readInSlot(state, turns, log, { options, signal })
    }
  }
  if (signal.aborted) return
  start(urgent, due)
  start(due, urgent)
}

/** Reads a log that has a slot, and then those that wait for one. */
function readInSlot(
  state: KeeperState,
  turns: Turns<KeptLog>,
  log: KeptLog,
  { options, signal }: { readonly options: LogKeeperOptions; readonly signal: AbortSignal },
): void {
  const task = read(log, options, signal).finally(() => {
    state.reading.delete(task)
    turns.end(log)
    if (isUrgent(log)) state.urgent.add(log)
    readDue(state, options, signal)
  })
  state.reading.add(task)
}

const NO_LOGS: RunLogs = { logs: new Map(), stored: new Set() }

/** Reports whether a log that was just read has to be read again at once. */
function isUrgent({ isLast, isDone, dueAt }: KeptLog): boolean {
  return isLast && !isDone && dueAt <= Date.now()
}

function noteObserver(
  { runs, urgent }: KeeperState,
  run: KeptRun,
  pod: RunPod,
  observer: RunningObserver,
): void {
  const own: RunLogs = runs.get(run.key) ?? { logs: new Map(), stored: new Set() }
  runs.set(run.key, own)
  const log = findLog(own, run, pod, observer)
  if (log === undefined) return
  const wasLast = log.isLast
  log.observer = observer
  log.isGone = pod.isGone
  log.isLast = pod.isGone || observer.state === 'ended'
  if (!log.isLast || wasLast || log.isDone) return
  log.dueAt = 0
  if (!log.isReading) urgent.add(log)
}

/** Returns the log of an observer; undefined if it has not started, or its rows are stored. */
function findLog(
  own: RunLogs,
  run: KeptRun,
  { started, containers }: RunPod,
  observer: RunningObserver,
): KeptLog | undefined {
  const id = logId(observer)
  const known = own.logs.get(id)
  if (known !== undefined || own.stored.has(id) || observer.state === 'waiting') return known
  endEarlierStarts(own, observer)
  const images = containers.flatMap(({ image }) => image ?? [])
  const log = createKeptLog(id, run, { observer, pod: { started, images } })
  own.logs.set(id, log)
  return log
}

/** The kubelet serves the logs of the last start and, as far as it keeps it, of the one before. */
function endEarlierStarts({ logs }: RunLogs, { uid, container, ...last }: RunningObserver): void {
  const first = last.before === null ? last.restarts : last.restarts - 1
  for (const log of logs.values()) {
    const { observer } = log
    const isSame = observer.uid === uid && observer.container === container
    if (!isSame || observer.restarts >= first) continue
    log.observer = { ...observer, attempt: observer.restarts + 1 }
    if (!log.isDone) finish(log, RESTARTED)
  }
}

async function read(log: KeptLog, options: LogKeeperOptions, signal: AbortSignal): Promise<void> {
  if (log.isDone) return
  const { isLast } = log
  log.isReading = true
  try {
    const begin = Date.now()
    const reading = await readNewLines(log, { ...options, signal })
    log.readAt = begin
    noteRead(log, reading, isLast)
    log.dueAt = log.isLast ? 0 : Date.now() + options.readMs
  } catch (error) {
    if (!signal.aborted) fail(log, error, options)
  }
  log.isReading = false
  if (log.isDone) await noteDone(log, options)
}

function fail(log: KeptLog, error: unknown, options: LogKeeperOptions): void {
  const now = Date.now()
  const message = systemMessage(describeApiError(error))
  const mayBeRead = noteFailure(log, error, message, now)
  if (!mayBeRead) return
  options.onFailure(log.run.namespace, `the log of pod ${log.observer.pod}: ${message}`)
  if (log.isLast && now - log.failures.since > options.giveUpMs) finish(log, message)
  const pause = pauseAfter(log.failures, options.failing)
  log.dueAt = now + Math.max(pause, log.isLast ? 0 : options.readMs)
}

/** If this fails, an archive that restarts says that the end of the log is missing. */
async function noteDone(log: KeptLog, { kept }: LogKeeperOptions): Promise<void> {
  await kept.writeFacts(log.run, log.id, factsOf(log)).catch(() => {})
}

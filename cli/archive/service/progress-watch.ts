import { open } from 'node:fs/promises'
import { systemMessage } from '../../../src/lib/error-message.ts'
import { minimum } from '../../../src/lib/statistics.ts'
import type { Descriptions } from '../../../src/runs/log/descriptions.ts'
import { findNoProgress } from '../../../src/runs/top/no-progress.ts'
import {
  hasProgress,
  type ProgressLog,
  startProgressLog,
} from '../../../src/runs/top/progress-log.ts'
import type { LiveRank } from '../../../src/runs/top/ranks.ts'
import type { KeptLogs } from '../storage/kept-logs.ts'
import type { KeptLog } from './kept-log.ts'

/** Looks for runs without progress in the logs that are kept. */
export interface ProgressWatch {
  /**
   * Begins to look at the runs whose logs were all read again since the last look.
   *
   * @param runs the logs of each run
   * @returns resolves when no run is looked at any more
   */
  begin(runs: Iterable<readonly KeptLog[]>): Promise<void>
  /** Forgets the rows of a run. */
  forget(key: string): void
  /** Waits until no log is read any more. */
  stop(): Promise<void>
}

export interface ProgressWatchOptions {
  readonly kept: KeptLogs
  readonly descriptions: Descriptions
  /** @param sentence about processes that make no progress; undefined if there are none */
  onLook(key: string, sentence: string | undefined): void
  /** @param message why it is not known whether a run makes progress */
  onUnknown(namespace: string, message: string): void
}

/** A log, and how many bytes of its text were read. */
interface WatchedLog {
  readonly progress: ProgressLog
  offset: number
}

interface WatchedRun {
  /** The time until which all logs were read, in milliseconds since 1970. */
  lookedAt: number
  /** Whether its rows need too much memory. It is then not looked at any more. */
  isTooLarge: boolean
  readonly logs: Map<string, WatchedLog>
}

/** A run to look at. */
interface DueRun {
  readonly logs: readonly KeptLog[]
  /** The time until which all logs were read, in milliseconds since 1970. */
  readonly until: number
}

interface State extends ProgressWatchOptions {
  readonly runs: Map<string, WatchedRun>
  readonly queue: Map<string, DueRun>
  looking: Promise<void> | undefined
  isStopped: boolean
}

/**
 * The most characters of rows that are kept of all runs. A process of MPI has about 1,900 in its
 * last two timepoints, which need 8 KiB of memory.
 */
const MOST_CHARACTERS = 16 * 2 ** 20

/** The bytes of a text that are read at once, and the most of a text that is read in one look. */
const PART_BYTES = 2 ** 20
const MOST_BYTES = 4 * PART_BYTES

/**
 * The logs of a run are read one after another, so their last rows are up to a minute apart. All
 * logs are therefore compared as they were when the earliest of the last readings began. The newer
 * rows are left on the volume until the next look.
 */
export function createProgressWatch(options: ProgressWatchOptions): ProgressWatch {
  const nothing = { runs: new Map(), queue: new Map(), looking: undefined, isStopped: false }
  const state: State = { ...options, ...nothing }
  return {
    begin(runs) {
      for (const logs of runs) enqueue(state, logs.filter(isWatched))
      state.looking ??= lookAtAll(state).finally(() => {
        state.looking = undefined
      })
      return state.looking
    },
    forget(key) {
      state.runs.delete(key)
      state.queue.delete(key)
    },
    async stop() {
      state.isStopped = true
      await state.looking
    },
  }
}

function isWatched({ observer }: KeptLog): boolean {
  return hasProgress(observer.container)
}

function enqueue({ runs, queue }: State, logs: readonly KeptLog[]): void {
  const [first] = logs
  if (first === undefined) return
  const { key } = first.run
  const until = readUntil(logs)
  if (until > (runs.get(key)?.lookedAt ?? 0)) queue.set(key, { logs, until })
}

/** Returns the time until which all logs that go on were read; 0 if one of them never was. */
function readUntil(logs: readonly KeptLog[]): number {
  return minimum(logs.filter(({ isDone }) => !isDone).map(({ readAt = 0 }) => readAt)) ?? 0
}

async function lookAtAll(state: State): Promise<void> {
  for (const [key, due] of state.queue) {
    if (state.isStopped) return
    state.queue.delete(key)
    await look(state, key, due)
  }
}

async function look(state: State, key: string, { logs, until }: DueRun): Promise<void> {
  const run = state.runs.get(key) ?? { lookedAt: 0, isTooLarge: false, logs: new Map() }
  state.runs.set(key, run)
  run.lookedAt = until
  if (run.isTooLarge) return
  try {
    const current = lastStarts(logs)
    await readRows(state, run, current)
    if (!state.runs.has(key)) return
    if (isTooLarge(state, run)) giveUp(run)
    state.onLook(key, describe(run, current))
  } catch (error) {
    fail(state, logs, systemMessage(error))
  }
  if (run.isTooLarge) fail(state, logs, 'its last rows are too large')
}

function fail({ onUnknown }: State, [first]: readonly KeptLog[], message: string): void {
  if (first !== undefined) onUnknown(first.run.namespace, `the Run ${first.run.name}: ${message}`)
}

async function readRows(
  state: State,
  run: WatchedRun,
  current: ReadonlyMap<string, KeptLog>,
): Promise<void> {
  for (const id of run.logs.keys()) if (!current.has(id)) run.logs.delete(id)
  for (const log of current.values()) await readLog(state, run, log)
}

/** The kubelet serves the log of the last start of a container. */
function lastStarts(logs: readonly KeptLog[]): ReadonlyMap<string, KeptLog> {
  const byContainer = Map.groupBy(logs, ({ observer: { uid, container } }) => `${uid}/${container}`)
  const last = [...byContainer.values()].flatMap((own) => own.slice(-1))
  return new Map(last.map((log) => [log.id, log]))
}

/** Reads the rows of a log that are new, and not newer than the look. */
async function readLog(
  { kept, descriptions }: State,
  run: WatchedRun,
  log: KeptLog,
): Promise<void> {
  const { observer, id, position } = log
  const description = descriptions.get(observer.container)
  if (description === undefined || position === undefined) return
  const known = run.logs.get(id)
  const isBehind = position.bytes - (known?.offset ?? 0) > MOST_BYTES
  // Only the last two timepoints count.
  const offset = isBehind ? position.bytes - MOST_BYTES : (known?.offset ?? 0)
  const progress = isBehind ? undefined : known?.progress
  const own: WatchedLog = {
    progress: progress ?? startProgressLog(observer, observer.container, description),
    offset,
  }
  run.logs.set(id, own)
  await readText(kept.pathOf(log.run, id), own, position.bytes, run.lookedAt)
  // A log can also be done because it is too long, while its container runs.
  own.progress.observer.isOver = log.isLast && log.isDone && own.offset === position.bytes
}

/** Reads the lines of a text before the byte `end`. */
async function readText(path: string, log: WatchedLog, end: number, until: number): Promise<void> {
  if (log.offset >= end) return
  const file = await open(path)
  try {
    while (log.offset < end) {
      const size = Math.min(PART_BYTES, end - log.offset)
      const { bytesRead, buffer } = await file.read(Buffer.alloc(size), 0, size, log.offset)
      if (!pushLines(log, buffer.subarray(0, bytesRead), until)) return
    }
  } finally {
    await file.close()
  }
}

const LINE_FEED = 10

/** @returns whether there may be more lines to read */
function pushLines(log: WatchedLog, part: Buffer, until: number): boolean {
  let from = 0
  for (let at = part.indexOf(LINE_FEED); at >= 0; at = part.indexOf(LINE_FEED, from)) {
    if (!log.progress.push(part.toString('utf8', from, at), until)) {
      log.offset += from
      return false
    }
    from = at + 1
  }
  // A line that does not fit into a part is not from an observer.
  log.offset += from === 0 ? part.length : from
  return part.length > 0
}

function isTooLarge({ runs }: State, run: WatchedRun): boolean {
  const logs = [...runs.values()].flatMap((one) => [...one.logs.values()])
  const size = logs.reduce((sum, { progress }) => sum + progress.size, 0)
  return size > MOST_CHARACTERS || [...run.logs.values()].some((log) => log.progress.isTooLarge)
}

function giveUp(run: WatchedRun): void {
  run.isTooLarge = true
  run.logs.clear()
}

/** Returns a sentence about the processes that make no progress; undefined if there are none. */
function describe(
  { logs, lookedAt }: WatchedRun,
  current: ReadonlyMap<string, KeptLog>,
): string | undefined {
  const members = [...current.values()].flatMap((log) => {
    const watched = logs.get(log.id)
    return watched === undefined ? [] : { log, watched }
  })
  const pods = Map.groupBy(members, ({ log }) => log.observer.uid)
  const ranks = [...pods.values()].flatMap((own): readonly LiveRank[] => {
    const [first] = own
    if (first === undefined) return []
    const { namespace, pod, node, rank } = first.log.observer
    const observers = own.map(({ watched }) => watched.progress.observer)
    return [{ namespace, pod, node, rank, observers }]
  })
  const [found, ...others] = findNoProgress(ranks, lookedAt)
  if (found === undefined) return undefined
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`
  return `${found.sentence.replace(/\.$/, '')}${more}`
}

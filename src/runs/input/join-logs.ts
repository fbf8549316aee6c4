import { nameFirst } from '../../core/text/name-first.ts'
import { readAttempt } from '../log/attempt.ts'
import { originOf, type RowOrigin, type Sample } from '../log/columns.ts'
import type { Entry, LogEntry } from '../log/entry.ts'

/** A log of a run, which can be in several files. */
export interface InputLog {
  /** Its name in the entries of the run. */
  readonly name: string
  /** The first file that has it. */
  readonly file: string
  readonly place: RowOrigin
  /** When its first row was taken, in milliseconds since 1970; NaN if its rows have no date. */
  readonly began: number
  /** When its last row was taken. */
  readonly ended: number
  /** The entry at its end; undefined if it was not read. */
  readonly entry: LogEntry | undefined
}

/** Joins the logs of the files of a run. Each row counts once, also if several files have it. */
export interface LogJoin {
  /** Begins a file. */
  readonly begin: (file: string) => void
  /**
   * Returns an entry under the name of its log, which is the same in all files; undefined if a file
   * before has the row, if it is no row, or if it is of an attempt of a container of which another
   * attempt was read before.
   */
  readonly push: (entry: Entry) => Entry | undefined
  readonly logs: () => readonly InputLog[]
  /** Returns a sentence for each file with logs that a file before has, or of other attempts. */
  readonly notices: () => readonly string[]
}

interface JoinedLog {
  readonly name: string
  readonly file: string
  place: RowOrigin
  /** The times of the first and of the last row; null if there is no row with a time. */
  first: string | null
  last: string | null
  /** The timepoint of the last row; -1 if there is none. */
  timepoint: number
  /** The number of its rows. */
  rows: number
  entry: LogEntry | undefined
}

/** A log as it is read from a file. */
interface Reading {
  readonly log: JoinedLog
  /** The last timepoint that another file has; -1 if no other file has the log. */
  readonly known: number
  /** The number of rows of this timepoint that are still to come, and that are known. */
  rows: number
}

/** The logs that were read, and the file that is read now. */
interface JoinState {
  readonly logs: Map<string, JoinedLog>
  /** The logs by what their first rows have in all copies. */
  readonly byStart: Map<string, JoinedLog>
  /** The logs of the current file whose ends were not read. */
  readonly reading: Map<string, Reading>
  readonly repeated: Map<string, RepeatedLogs>
  readonly attempts: Attempts
  file: string
}

/** The attempts of containers that are started again. Only one attempt of each counts. */
interface Attempts {
  /** For each source, whether it is left out. */
  readonly isLeftOut: Map<string, boolean>
  /** The containers of which an attempt counts, by the source of their last attempt. */
  readonly counted: Set<string>
}

/** The number of logs of a file that a file before has. */
interface RepeatedLogs {
  readonly before: string
  count: number
}

/**
 * Two logs are the same if their first rows are of the same time, metric, pod and namespace. A file
 * that was collected earlier can have fewer timepoints of a log than another one. If it has a part
 * of a timepoint in the format of sysstat, the values that it lacks stay missing.
 *
 * @param onOther is called with the entries of other attempts of a container
 */
export function joinLogs(onOther: (entry: Entry) => void = () => {}): LogJoin {
  const state: JoinState = {
    logs: new Map(),
    byStart: new Map(),
    reading: new Map(),
    repeated: new Map(),
    attempts: { isLeftOut: new Map(), counted: new Set() },
    file: '',
  }
  return {
    begin: (file) => {
      state.file = file
      state.reading.clear()
    },
    push: (entry) => {
      if (entry.kind === 'unmatched') return undefined
      if (isOfOtherAttempt(state.attempts, entry)) {
        onOther(entry)
        return undefined
      }
      return entry.kind === 'log' ? addEnd(state, entry) : addRow(state, entry)
    },
    logs: () => [...state.logs.values()].map(inputLog),
    notices: () => [
      ...[...state.repeated].map(([file, logs]) => describeRepeated(file, logs)),
      ...describeAttempts(state.attempts),
    ],
  }
}

/**
 * Reports whether an entry is of an attempt of a container of which another attempt counts. The
 * program has begun again, with the same ranks and the same work. The attempt that is read first
 * counts: files and logs of earlier attempts are read after those of the last ones.
 */
function isOfOtherAttempt(
  { isLeftOut, counted }: Attempts,
  { source }: Pick<Entry, 'source'>,
): boolean {
  const name = source ?? ''
  const known = isLeftOut.get(name)
  if (known !== undefined) return known
  const last = readAttempt(name)?.last ?? name
  const isOther = counted.has(last)
  counted.add(last)
  isLeftOut.set(name, isOther)
  return isOther
}

function addRow(state: JoinState, row: Sample): Sample | undefined {
  const source = row.source ?? ''
  const current = state.reading.get(source) ?? openLog(state, row, startOf(row))
  state.reading.set(source, current)
  if (isKnown(current, row)) return undefined
  const { log } = current
  log.first ??= row.time
  log.last = row.time ?? log.last
  log.rows = log.timepoint === row.timepoint ? log.rows + 1 : 1
  log.timepoint = row.timepoint
  return named(row, log.name)
}

/** Reports whether a file before has a row. It may have only a part of its last timepoint. */
function isKnown(reading: Reading, { timepoint }: Sample): boolean {
  if (timepoint !== reading.known) return timepoint < reading.known
  reading.rows -= 1
  return reading.rows >= 0
}

function addEnd(state: JoinState, entry: LogEntry): LogEntry {
  const source = entry.source ?? ''
  const { log } = state.reading.get(source) ?? openEmpty(state, entry)
  state.reading.delete(source)
  log.entry = log.entry === undefined ? entry : mergeEntries(log.entry, entry)
  log.place = originOf(log.entry)
  return named(log.entry, log.name)
}

/** Opens a log at its first row. @param start what all copies have; undefined if not known */
function openLog(state: JoinState, row: RowOrigin, start: string | undefined): Reading {
  const same = state.byStart.get(start ?? '')
  if (same !== undefined) return openAgain(state, same)
  const log = newLog(state, row)
  if (start !== undefined) state.byStart.set(start, log)
  return { log, known: -1, rows: 0 }
}

/** Opens a log without rows. A log of the same name is the same one. */
function openEmpty(state: JoinState, entry: LogEntry): Reading {
  const same = state.logs.get(entry.source ?? '')
  if (same !== undefined) return openAgain(state, same)
  return { log: newLog(state, entry), known: -1, rows: 0 }
}

function openAgain({ repeated, file }: JoinState, log: JoinedLog): Reading {
  const logs = repeated.get(file) ?? { before: log.file, count: 0 }
  logs.count += 1
  repeated.set(file, logs)
  return { log, known: log.timepoint, rows: log.rows }
}

function newLog({ logs, file }: JoinState, origin: RowOrigin): JoinedLog {
  const name = freeName(logs, origin.source ?? '', file)
  const ends = { first: null, last: null, timepoint: -1, rows: 0, entry: undefined }
  const log: JoinedLog = { name, file, place: originOf(origin), ...ends }
  logs.set(name, log)
  return log
}

/** Returns what the first row of a log has in all of its copies; undefined if that is not known. */
function startOf({ namespace, pod, metric, time, timepoint }: Sample): string | undefined {
  if (pod === null || !hasDate(time)) return undefined
  return JSON.stringify([namespace, pod, metric, time, timepoint])
}

/** Reports whether a time has a date. Those of the Metrics Operator have none. */
function hasDate(time: string | null): time is string {
  return time?.includes('T') === true
}

/**
 * Returns the name of a log that no other log has. The name of a raw log is that of its file; if
 * files in several folders have this name, it is the path.
 */
function freeName(logs: ReadonlyMap<string, unknown>, source: string, file: string): string {
  const candidates = file.endsWith(`/${source}`) ? [source, file] : [source]
  const free = candidates.find((name) => !logs.has(name))
  if (free !== undefined) return free
  let number = 2
  while (logs.has(`${source}#${number}`)) number += 1
  return `${source}#${number}`
}

/** Joins the entries of two copies: that of the whole log, and what either knows of the pod. */
function mergeEntries(before: LogEntry, now: LogEntry): LogEntry {
  const [kept, other] = isFuller(now, before) ? [now, before] : [before, now]
  return {
    ...kept,
    ended: kept.ended ?? other.ended,
    podLimits: kept.podLimits ?? other.podLimits,
    observedPods: kept.observedPods ?? other.observedPods,
    time: now.time ?? before.time,
    attempt: kept.attempt ?? other.attempt,
  }
}

function isFuller(one: LogEntry, other: LogEntry): boolean {
  const lost = one.cuts.length - other.cuts.length
  return lost === 0 ? one.timepoints > other.timepoints : lost < 0
}

function named<One extends Entry>(entry: One, name: string): One {
  return entry.source === name ? entry : { ...entry, source: name }
}

function inputLog({ name, file, place, first, last, entry }: JoinedLog): InputLog {
  const [began, ended] = [first, last].map((time) =>
    hasDate(time) ? Date.parse(time) : Number.NaN,
  )
  return { name, file, place, entry, began: began ?? Number.NaN, ended: ended ?? Number.NaN }
}

function describeRepeated(file: string, { before, count }: RepeatedLogs): string {
  const logs = count === 1 ? 'a log' : `${count} logs`
  const where = file === before ? 'more than once' : `that ${before} has, too`
  return `${file} has ${logs} ${where}: each row counts once`
}

function describeAttempts({ isLeftOut }: Attempts): readonly string[] {
  const names = [...isLeftOut].flatMap(([name, isOther]) => (isOther ? name : []))
  if (names.length === 0) return []
  const logs = names.length === 1 ? 'is the log of another attempt' : 'are logs of other attempts'
  return [`${nameFirst(names)} ${logs} of a container, left out: one attempt of each counts`]
}

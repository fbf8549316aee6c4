import { originOf, type RowOrigin, type Sample } from '../log/columns.ts'
import type { Descriptions } from '../log/descriptions.ts'
import { type Entry, isSample, type LogEntry } from '../log/entry.ts'
import { type AssessedRun, assessRun } from '../report/assess.ts'
import { addEntry, newRun } from '../report/gather.ts'

/** A recorded log. */
export interface RecordedLog {
  readonly place: RowOrigin
  /** The rows in the order of time. */
  readonly rows: readonly RecordedSample[]
  /** The description of the log; undefined if it was not recorded. */
  readonly entry: LogEntry | undefined
}

/** A row, and when it was taken, in milliseconds since 1970. */
export interface RecordedSample {
  readonly at: number
  readonly sample: Sample
}

/** The most rows that are kept: in memory, they need about a kilobyte each. */
export const MAX_ROWS = 1_000_000

interface GrowingLog {
  place: RowOrigin
  readonly samples: Sample[]
  entry: LogEntry | undefined
}

/** The rows of recorded logs, which are gathered in memory. */
export interface LogGathering {
  /** @returns whether there is room for more rows */
  readonly add: (entry: Entry) => boolean
  /** Returns the logs, one of each pod and metric at a time, and how their run went. */
  readonly recording: () => ReplayedRun
}

export interface ReplayedRun {
  readonly logs: readonly RecordedLog[]
  /** How the run went, as the report says it. */
  readonly assessed: AssessedRun
}

/**
 * @param descriptions the descriptions of the rows of the metrics in a catalog
 * @param mostRows the most rows that are kept
 */
export function gatherLogs(descriptions: Descriptions, mostRows = MAX_ROWS): LogGathering {
  const logs = new Map<string, GrowingLog>()
  const run = newRun(descriptions)
  let rows = 0
  return {
    add: (entry) => {
      addEntry(run, entry)
      const log = logOf(logs, entry)
      if (entry.kind === 'log') Object.assign(log, { entry, place: originOf(entry) })
      if (!isSample(entry)) return true
      rows += 1
      log.samples.push(entry)
      return rows <= mostRows
    },
    recording: () => {
      const assessed = assessRun(run)
      const all = [...logs.values()]
      const base = beginning(all)
      return { logs: chooseLogs(all.map((log) => timed(log, base))), assessed }
    },
  }
}

function logOf(logs: Map<string, GrowingLog>, entry: Entry): GrowingLog {
  const known = logs.get(entry.source ?? '')
  if (known !== undefined) return known
  const made: GrowingLog = { place: originOf(entry), samples: [], entry: undefined }
  logs.set(entry.source ?? '', made)
  return made
}

/** Returns the time of the first row with a date; 0 if there is none. */
function beginning(logs: readonly GrowingLog[]): number {
  const first = logs.flatMap(({ samples }) => dateOf(samples[0]) ?? [])
  return first.length === 0 ? 0 : first.reduce((least, at) => Math.min(least, at))
}

/** Returns when a row was taken, in milliseconds since 1970; undefined if it has no date. */
function dateOf(sample: Sample | undefined): number | undefined {
  const date = sample?.time?.includes('T') ? Date.parse(sample.time) : Number.NaN
  return Number.isNaN(date) ? undefined : date
}

/**
 * Gives each row its time. A log without a date, such as a log of the Metrics Operator, begins with
 * the first log that has one.
 */
function timed({ place, samples, entry }: GrowingLog, base: number): RecordedLog {
  const rows = samples.map((sample) => {
    return { at: dateOf(sample) ?? base + sample.seconds * 1000, sample }
  })
  return { place, entry, rows: rows.sort((a, b) => a.at - b.at) }
}

/**
 * Leaves out the logs of a pod and metric that begin before an earlier one ends, such as that of an
 * observer that was attached to an observed pod.
 */
function chooseLogs(logs: readonly RecordedLog[]): readonly RecordedLog[] {
  const groups = Map.groupBy(logs, ({ place: { namespace, pod, metric, source } }) =>
    JSON.stringify(pod === null ? [source] : [namespace, pod, metric]),
  )
  return [...groups.values()].flatMap((own) => {
    const sorted = [...own].sort((a, b) => beganAt(a) - beganAt(b))
    return sorted.filter((log, index) => {
      return !sorted.slice(0, index).some((earlier) => beganAt(log) <= endedAt(earlier))
    })
  })
}

function beganAt({ rows }: RecordedLog): number {
  return rows[0]?.at ?? Number.POSITIVE_INFINITY
}

function endedAt({ rows }: RecordedLog): number {
  return rows.at(-1)?.at ?? Number.NEGATIVE_INFINITY
}

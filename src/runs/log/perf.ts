import type { RowColumn } from '../../core/catalog.ts'
import { asObjects, asText, type Fields } from '../../core/kubernetes/json.ts'
import { readCells } from './cell.ts'
import { ownInterval, type RowCells } from './columns.ts'

/** A row of one timepoint of perf-sysstat, with the time of day that the row reports. */
export interface ProcessRow {
  readonly kind: 'process' | 'thread'
  readonly cells: RowCells
  /** The time of day as the number HHMMSS, as jc writes it; null if the row reports none. */
  readonly clock: number | null
  /** The seconds that the row is about; undefined if the row does not give them. */
  readonly interval: number | undefined
  /**
   * Whether an observer of Ridealong wrote the row. Only these rows have the field `program`, which
   * jc does not write.
   */
  readonly isOurs: boolean
}

/** The values of a process or thread, from the sections that were read so far. */
type Row = Record<string, unknown>

export interface Processes {
  readonly rows: readonly ProcessRow[]
  /** The headers of the sections whose JSON is missing or invalid. */
  readonly broken: readonly string[]
}

/**
 * The names with which headers begin: those of the eleven current headers (metrics-operator
 * pkg/metrics/perf/sysstat.go), and CPU STATISTICS, KERNEL STATISTICS, PAGEFAULTS and THREADS from
 * logs of 2023. Other text may follow the name, as the Python package allows.
 */
const HEADER =
  /^(CPU STATISTICS|IO STATISTICS|KERNEL STATISTICS|POLICY|PAGEFAULTS|STACK UTILIZATION|THREADS|KERNEL TABLES|TASK SWITCHING)( |$)/

/** Reports whether the lines come from pidstat and not from iostat. */
export function hasSections(lines: readonly string[]): boolean {
  return lines.some((line) => HEADER.test(line))
}

/**
 * Reads the sections of a timepoint and joins them into one row per process and thread. If two
 * sections report the same counter (THREADS repeats CPU STATISTICS), the first value is used.
 */
export function readProcesses(lines: readonly string[], columns: readonly RowColumn[]): Processes {
  const byTask = new Map<string, Row>()
  const broken: string[] = []
  for (const { header, json } of readSections(lines)) {
    const rows = parseList(json)
    if (rows === undefined) broken.push(header)
    else join(byTask, rows)
  }
  return { rows: [...byTask.values()].map((row) => readRow(row, columns)), broken }
}

interface Section {
  readonly header: string
  readonly json: string
}

/**
 * Splits the lines into sections. The JSON of a section is the first line after the header that
 * begins a list; other lines are ignored.
 */
function readSections(lines: readonly string[]): Section[] {
  const sections: { header: string; json: string }[] = []
  for (const line of lines) {
    const last = sections.at(-1)
    if (HEADER.test(line)) sections.push({ header: line.trim(), json: '' })
    else if (last?.json === '' && line.startsWith('[')) last.json = line
  }
  return sections
}

function parseList(json: string): readonly Fields[] | undefined {
  try {
    return asObjects(JSON.parse(json))
  } catch {
    return undefined
  }
}

/**
 * Joins rows to the rows of their process or thread. In a list with threads, the threads follow
 * their process.
 */
function join(byTask: Map<string, Row>, rows: readonly Fields[]): void {
  let process: unknown
  for (const row of rows) {
    const own = row.pid ?? row.tgid
    if (own !== '-' && own !== undefined) process = own
    const tid = row.tid === '-' ? undefined : row.tid
    addMissing(findRow(byTask, process, tid), row)
  }
}

function findRow(byTask: Map<string, Row>, pid: unknown, tid: unknown): Row {
  const key = `${pid} ${tid ?? ''}`
  const row = byTask.get(key) ?? { pid, tid }
  byTask.set(key, row)
  return row
}

/**
 * Adds the values that earlier sections did not report; the values of earlier sections take
 * precedence. Older versions of jc wrote fd-nr and usr-ms instead of fd_nr and usr_ms.
 */
function addMissing(known: Row, row: Fields): void {
  for (const name of Object.keys(row)) {
    const column = name.includes('-') ? name.replace('-', '_') : name
    if (!Object.hasOwn(known, column)) known[column] = row[name]
  }
}

function readRow(row: Fields, columns: readonly RowColumn[]): ProcessRow {
  const isOurs = row.program !== undefined
  // pidstat prefixes the name of a thread with |__.
  const command = isOurs ? undefined : asText(row.command)?.replace(/^\|__/, '')
  return {
    kind: row.tid === undefined ? 'process' : 'thread',
    cells: readCells(columns, isOurs ? row : { ...row, program: command }),
    clock: typeof row.time === 'number' ? row.time : null,
    interval: ownInterval(row),
    isOurs,
  }
}

import { asObjects, asText, type Fields } from '../core/kubernetes/json.ts'
import { readCell } from './cell.ts'
import { PROCESS_COLUMNS, type ProcessCells } from './columns.ts'

/** Rows of one timepoint of perf-sysstat, each with the time of day that it says. */
export interface ProcessRow {
  readonly kind: 'process' | 'thread'
  readonly cells: ProcessCells
  /** HHMMSS as a number, as jc writes it; null where it says none. */
  readonly clock: number | null
  /** Whether an observer of ours wrote it: jc names no program. */
  readonly isOurs: boolean
}

export interface Processes {
  readonly rows: readonly ProcessRow[]
  /** Sections whose JSON is missing or broken, by their headers. */
  readonly broken: readonly string[]
}

/**
 * Today's eleven headers (metrics-operator pkg/metrics/perf/sysstat.go), and those of its logs of
 * 2023: CPU STATISTICS, KERNEL STATISTICS, PAGEFAULTS, THREADS. Others may follow the name, as the
 * Python package allows.
 */
const HEADER =
  /^(CPU STATISTICS|IO STATISTICS|KERNEL STATISTICS|POLICY|PAGEFAULTS|STACK UTILIZATION|THREADS|KERNEL TABLES|TASK SWITCHING)( |$)/

/** Whether these lines are pidstat's and not iostat's. */
export function hasSections(lines: readonly string[]): boolean {
  return lines.some((line) => HEADER.test(line))
}

/**
 * Reads the sections of a timepoint and joins them to one row for each process and thread. Where two
 * sections know the same counter (THREADS repeats CPU STATISTICS), the first one counts.
 */
export function readProcesses(lines: readonly string[]): Processes {
  const byTask = new Map<string, Fields>()
  const broken: string[] = []
  for (const { header, json } of readSections(lines)) {
    const rows = parseList(json)
    if (rows === undefined) broken.push(header)
    else join(byTask, rows)
  }
  return { rows: [...byTask.values()].map(readRow), broken }
}

interface Section {
  readonly header: string
  readonly json: string
}

/** The JSON is the first line after the header that begins a list: others are noise. */
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

/** Joins rows to the tasks that they are of; in a list with threads, these follow their process. */
function join(byTask: Map<string, Fields>, rows: readonly Fields[]): void {
  let process: unknown
  for (const row of rows) {
    const own = row.pid ?? row.tgid
    if (own !== '-' && own !== undefined) process = own
    const tid = row.tid === '-' ? undefined : row.tid
    const normal = normalised({ ...row, pid: process, tid })
    const key = `${process} ${tid ?? ''}`
    byTask.set(key, { ...normal, ...byTask.get(key) })
  }
}

/** jc wrote fd-nr and usr-ms before it wrote fd_nr and usr_ms. */
function normalised(row: Fields): Fields {
  return Object.fromEntries(
    Object.entries(row).map(([key, value]) => [key.replace('-', '_'), value]),
  )
}

const NAMES = Object.keys(PROCESS_COLUMNS) as readonly (keyof ProcessCells)[]

function readRow(row: Fields): ProcessRow {
  // pidstat marks the name of a thread with |__.
  const command = asText(row.command)?.replace(/^\|__/, '')
  const known = { ...row, program: row.program ?? command }
  const cells = NAMES.map((name) => [
    name,
    readCell(PROCESS_COLUMNS[name], known[name as 'program']),
  ])
  return {
    kind: row.tid === undefined ? 'process' : 'thread',
    cells: Object.fromEntries(cells) as ProcessCells,
    clock: typeof row.time === 'number' ? row.time : null,
    isOurs: row.program !== undefined,
  }
}

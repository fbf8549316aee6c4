import type { RowSection, RowsDescription } from '../../core/catalog.ts'
import type { RowCells } from './columns.ts'
import { coversIntervals } from './descriptions.ts'
import { readTimepoint } from './timepoint.ts'

/** Reports whether each line of a log is a row; otherwise, a timepoint is parsed as a whole. */
export function isRowPerLine(description: Pick<RowsDescription, 'format'>): boolean {
  return !coversIntervals(description)
}

/**
 * The number of lines that in most logs have at least two timepoints, so that the growth of
 * counters is known. A timepoint of pidstat or iostat has up to 40 lines. A timepoint in JSON Lines
 * has a line for each container and process, or for each peer of a process.
 */
export const LINES_OF_TIMEPOINTS: Readonly<Record<RowsDescription['format'], number>> = {
  pidstat: 80,
  iostat: 200,
  jsonl: 500,
}

/** A row of a timepoint, and its section. */
export interface TimepointRow {
  readonly section: RowSection
  readonly cells: RowCells
}

/**
 * Reads the rows of a timepoint whose end may be missing. Rows of threads are left out, because the
 * row of a process contains the sums of its threads.
 */
export function readOpenTimepoint(
  lines: readonly string[],
  { sections: [section] }: RowsDescription,
): readonly TimepointRow[] {
  if (section === undefined) return []
  const expected = { sectionOf: () => section, isUndescribed: false }
  const { rows } = readTimepoint(neededLines(lines, section), true, expected)
  return rows.flatMap(({ kind, cells }) => (kind === section.of ? [{ section, cells }] : []))
}

/**
 * Leaves out the lists of pidstat that have none of the measured columns of a section, because
 * parsing them takes most of the time. All lists below the same header have the same columns.
 */
function neededLines(lines: readonly string[], section: RowSection): readonly string[] {
  let header = ''
  return lines.filter((line) => {
    if (line.startsWith('[')) return isNeeded(header, line, listsOf(section))
    header = line
    return true
  })
}

/** The most headers that are remembered. pidstat has eleven. */
const MAX_HEADERS = 64

/** Reports whether a list has a measured column. Old versions of jc wrote `-` instead of `_`. */
function isNeeded(header: string, list: string, { measured, headers }: SectionLists): boolean {
  const known = headers.get(header)
  if (known !== undefined) return known
  const isFound = measured.some((name) => list.includes(name))
  if (list.startsWith('[{') && headers.size < MAX_HEADERS) headers.set(header, isFound)
  return isFound
}

interface SectionLists {
  /** The names of the measured columns in quotes, as JSON has them. */
  readonly measured: readonly string[]
  /** For each header, whether the list below it has a measured column. */
  readonly headers: Map<string, boolean>
}

const LISTS = new WeakMap<RowSection, SectionLists>()

function listsOf(section: RowSection): SectionLists {
  const known = LISTS.get(section)
  if (known !== undefined) return known
  const measured = section.columns.filter(({ behavior }) => behavior !== undefined)
  const lists = {
    measured: measured.flatMap(({ name }) => [`"${name}"`, `"${name.replaceAll('_', '-')}"`]),
    headers: new Map<string, boolean>(),
  }
  LISTS.set(section, lists)
  return lists
}

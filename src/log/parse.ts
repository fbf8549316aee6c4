import { type Fields, fieldsOf, fieldsOrNone, listOrNone, objectsOf, textOf } from '../core/json.ts'
import { cellOf } from './cell.ts'
import { DEVICE_COLUMNS, PLACE_COLUMNS, PROCESS_COLUMNS } from './columns.ts'
import type { Entry } from './entry.ts'

const PROCESS = Object.entries({ ...PLACE_COLUMNS, ...PROCESS_COLUMNS })
const DEVICE = Object.entries({ ...PLACE_COLUMNS, ...DEVICE_COLUMNS })
const { timepoint: _, time: __, seconds: ___, interval: ____, ...WHERE } = PLACE_COLUMNS
const LOG = Object.entries(WHERE)

const COLUMNS_OF: Readonly<Record<string, typeof PROCESS>> = {
  process: PROCESS,
  thread: PROCESS,
  device: DEVICE,
  log: LOG,
}

/**
 * Reads a line of collected JSON Lines, whoever wrote it: cells of another type are null.
 *
 * @returns undefined where it is no such line
 */
export function parseEntry(line: string): Entry | undefined {
  const row = parse(line)
  const columns = COLUMNS_OF[textOf(row?.kind) ?? '']
  if (row === undefined || columns === undefined || textOf(row.source) === undefined)
    return undefined
  const cells = Object.fromEntries(
    columns.map(([name, column]) => [name, cellOf(column, row[name])]),
  )
  const whole = row.kind === 'log' ? { ...cells, ...sayingsOf(row) } : cells
  return whole as unknown as Entry
}

function sayingsOf(row: Fields) {
  return {
    metadata: fieldsOrNone(row.metadata),
    command: textOf(row.command) ?? null,
    summary: objectsOf(row.summary),
    isAverage: row.isAverage === true,
    timepoints: typeof row.timepoints === 'number' ? row.timepoints : 0,
    cuts: textsOf(row.cuts),
    notices: textsOf(row.notices),
  }
}

function textsOf(list: unknown): readonly string[] {
  return listOrNone(list).filter((text) => typeof text === 'string')
}

function parse(line: string): Fields | undefined {
  try {
    return fieldsOf(JSON.parse(line))
  } catch {
    return undefined
  }
}

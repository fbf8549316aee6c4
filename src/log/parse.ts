import {
  asFields,
  asObjects,
  asText,
  type Fields,
  fieldsOrNone,
  listOrNone,
} from '../core/kubernetes/json.ts'
import { readCell } from './cell.ts'
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
 * Parses a line of collected JSON Lines. Any program can write such lines, so cells of an
 * unexpected type become null.
 *
 * @returns undefined if the line is not an entry
 */
export function parseEntry(line: string): Entry | undefined {
  const row = parse(line)
  const columns = COLUMNS_OF[asText(row?.kind) ?? '']
  if (row === undefined || columns === undefined || asText(row.source) === undefined)
    return undefined
  const cells = Object.fromEntries(
    columns.map(([name, column]) => [name, readCell(column, row[name])]),
  )
  const whole = row.kind === 'log' ? { ...cells, ...readDescriptions(row) } : cells
  return whole as unknown as Entry
}

function readDescriptions(row: Fields) {
  return {
    metadata: fieldsOrNone(row.metadata),
    command: asText(row.command) ?? null,
    summary: asObjects(row.summary),
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
    return asFields(JSON.parse(line))
  } catch {
    return undefined
  }
}

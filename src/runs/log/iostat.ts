import type { RowColumn } from '../../core/catalog.ts'
import {
  asObjects,
  asText,
  type Fields,
  fieldsOrNone,
  listOrNone,
} from '../../core/kubernetes/json.ts'
import { readCells } from './cell.ts'
import type { RowCells } from './columns.ts'

export interface Devices {
  readonly rows: readonly RowCells[]
  /** The time that iostat prints with its option -t, in the format of iostat. */
  readonly timestamp: string | undefined
}

/**
 * Reads a timepoint of io-sysstat, either a JSON document or the human-readable table. Returns
 * undefined if the document is not valid JSON, or the table has no header.
 */
export function readDevices(
  lines: readonly string[],
  columns: readonly RowColumn[],
): Devices | undefined {
  const text = lines.join('\n').trim()
  if (!text.startsWith('{')) return readTable(lines, columns)
  try {
    return readDocument(JSON.parse(text), columns)
  } catch {
    return undefined
  }
}

function readDocument(document: unknown, columns: readonly RowColumn[]): Devices {
  const [host] = listOrNone(fieldsOrNone(fieldsOrNone(document).sysstat).hosts)
  // The last report is used. If iostat printed two reports, the first contains the averages since
  // the node started.
  const statistics = fieldsOrNone(listOrNone(fieldsOrNone(host).statistics).at(-1))
  return {
    rows: asObjects(statistics.disk).map((row) => readRow(row, columns)),
    timestamp: asText(statistics.timestamp),
  }
}

/** Reads the table of `iostat -dxm`: a header that begins with Device, then one line per device. */
function readTable(lines: readonly string[], columns: readonly RowColumn[]): Devices | undefined {
  const at = lines.findIndex((line) => /^Device\s/.test(line))
  const header = lines[at]?.trim().split(/\s+/)
  if (header === undefined) return undefined
  const names = header.map((name) => name.replace('%', ''))
  const rows = lines.slice(at + 1).flatMap((line) => {
    const cells = line.trim().split(/\s+/)
    if (cells.length !== names.length) return []
    const row = Object.fromEntries(names.map((name, index) => [name, cells[index]]))
    return [readRow(row, columns)]
  })
  return { rows, timestamp: undefined }
}

function readRow(row: Fields, columns: readonly RowColumn[]): RowCells {
  const normal = Object.fromEntries(
    Object.entries(row).map(([key, value]) => [key.toLowerCase().replace(/[/-]/g, '_'), value]),
  )
  return readCells(columns, { ...normal, device: normal.disk_device ?? normal.device })
}

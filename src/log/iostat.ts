import {
  asObjects,
  asText,
  type Fields,
  fieldsOrNone,
  listOrNone,
} from '../core/kubernetes/json.ts'
import { readCell } from './cell.ts'
import { DEVICE_COLUMNS, type DeviceCells } from './columns.ts'

export interface Devices {
  readonly rows: readonly DeviceCells[]
  /** The time that iostat prints with its option -t, in the format of iostat. */
  readonly timestamp: string | undefined
}

/**
 * Reads a timepoint of io-sysstat, either a JSON document or the human-readable table. Returns
 * undefined if the timepoint is truncated.
 */
export function readDevices(lines: readonly string[]): Devices | undefined {
  const text = lines.join('\n').trim()
  if (!text.startsWith('{')) return readTable(lines)
  try {
    return readDocument(JSON.parse(text))
  } catch {
    return undefined
  }
}

function readDocument(document: unknown): Devices {
  const [host] = listOrNone(fieldsOrNone(fieldsOrNone(document).sysstat).hosts)
  // If iostat printed two reports, the first covers the time since the node started.
  const statistics = fieldsOrNone(listOrNone(fieldsOrNone(host).statistics).at(-1))
  return { rows: asObjects(statistics.disk).map(readRow), timestamp: asText(statistics.timestamp) }
}

/** Reads the table of `iostat -dxm`: a header that begins with Device, then one line per device. */
function readTable(lines: readonly string[]): Devices | undefined {
  const at = lines.findIndex((line) => /^Device\s/.test(line))
  const header = lines[at]?.trim().split(/\s+/)
  if (header === undefined) return undefined
  const names = header.map((name) => name.replace('%', ''))
  const rows = lines.slice(at + 1).flatMap((line) => {
    const cells = line.trim().split(/\s+/)
    return cells.length === names.length
      ? [readRow(Object.fromEntries(names.map((name, index) => [name, cells[index]])))]
      : []
  })
  return { rows, timestamp: undefined }
}

const NAMES = Object.keys(DEVICE_COLUMNS) as readonly (keyof DeviceCells)[]

function readRow(row: Fields): DeviceCells {
  const normal = Object.fromEntries(
    Object.entries(row).map(([key, value]) => [key.toLowerCase().replace(/[/-]/g, '_'), value]),
  )
  const known: Fields = { ...normal, device: normal.disk_device ?? normal.device }
  const cells = NAMES.map((name) => [name, readCell(DEVICE_COLUMNS[name], known[name])])
  return Object.fromEntries(cells) as DeviceCells
}

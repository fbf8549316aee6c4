import type { ReportedTime } from './clock.ts'
import type { DeviceCells, ProcessCells } from './columns.ts'
import { readDevices } from './iostat.ts'
import { hasSections, readProcesses } from './perf.ts'

export type Row =
  | ({ readonly kind: 'process' | 'thread' } & ProcessCells)
  | ({ readonly kind: 'device' } & DeviceCells)

export interface Timepoint {
  readonly rows: readonly Row[]
  readonly said: ReportedTime
  /** Whether the rows show that an observer of ours wrote them. */
  readonly isOurs: boolean
  /** What is missing from it, or undefined. */
  readonly cut: string | undefined
}

const SILENT: ReportedTime = { clock: null, timestamp: undefined }

/**
 * Reads a timepoint by what it holds: pidstat's sections, or what iostat prints. Of another metric nothing is
 * read, and nothing is missing from a timepoint that is whole.
 *
 * @param isOther whether the metric is known to be another than those whose rows are read
 */
export function readTimepoint(
  lines: readonly string[],
  isWhole: boolean,
  isOther: boolean,
): Timepoint {
  if (lines.every((line) => line.trim() === ''))
    return { rows: [], said: SILENT, isOurs: false, cut: isWhole ? undefined : 'is cut' }
  if (hasSections(lines)) return ofProcesses(lines, isWhole)
  const devices = ofDevices(lines, isWhole)
  if (!isOther || devices.rows.length > 0) return devices
  return { ...devices, cut: isWhole ? undefined : 'may be cut' }
}

function ofProcesses(lines: readonly string[], isWhole: boolean): Timepoint {
  const { rows, broken } = readProcesses(lines)
  const clock = rows.find((row) => row.clock !== null)?.clock ?? null
  const missing = broken.length > 0 ? `is cut at ${broken.join(', ')}` : undefined
  return {
    rows: rows.map(({ kind, cells }) => ({ kind, ...cells })),
    said: { ...SILENT, clock },
    isOurs: rows.some((row) => row.isOurs),
    cut: missing ?? (isWhole ? undefined : 'may be cut'),
  }
}

function ofDevices(lines: readonly string[], isWhole: boolean): Timepoint {
  const devices = readDevices(lines)
  // The last line of a table that is cut may end within a number; a document shows it by itself.
  const isTable = !lines.join('').trimStart().startsWith('{')
  if (devices === undefined || (isTable && !isWhole))
    return { rows: [], said: SILENT, isOurs: false, cut: 'is cut' }
  return {
    rows: devices.rows.map((cells) => ({ kind: 'device', ...cells })),
    said: { clock: null, timestamp: devices.timestamp },
    isOurs: false,
    cut: undefined,
  }
}

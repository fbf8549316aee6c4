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
  /** Whether the rows show that an observer of Ridealong wrote them. */
  readonly isOurs: boolean
  /** A description of the missing part; undefined if the timepoint is complete. */
  readonly cut: string | undefined
}

const SILENT: ReportedTime = { clock: null, timestamp: undefined }

/**
 * Reads a timepoint: the sections of pidstat, or the output of iostat. The lines determine the
 * format. Timepoints of other metrics are not read, and are reported as truncated only if their
 * closing marker is missing.
 *
 * @param isWhole whether the closing marker of the timepoint was found
 * @param isOther whether the metric is known to be neither perf-sysstat nor io-sysstat
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
  // The last line of a truncated table may end within a number, and a truncated document is not
  // valid JSON.
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

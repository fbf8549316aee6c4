import type { RowSection } from '../../core/catalog.ts'
import type { ReportedTime } from './clock.ts'
import type { RowCells, RowKind } from './columns.ts'
import type { SysstatFormat } from './descriptions.ts'
import { readDevices } from './iostat.ts'
import { hasSections, readProcesses } from './perf.ts'

export interface Row {
  readonly kind: RowKind
  readonly section: string
  readonly cells: RowCells
  /** The seconds that the row is about; undefined if the row does not give them. */
  readonly interval?: number | undefined
}

export interface Timepoint {
  /** The format of the rows; undefined if there are none. */
  readonly format: SysstatFormat | undefined
  readonly rows: readonly Row[]
  readonly reported: ReportedTime
  /** Whether the rows show that an observer of Ridealong wrote them. */
  readonly isOurs: boolean
  /**
   * The end of the message about a truncated timepoint, such as `may be cut`; undefined if the
   * timepoint is complete.
   */
  readonly cut: string | undefined
}

const SILENT: ReportedTime = { clock: null, timestamp: undefined }

/** The rows that a log is expected to contain. */
export interface ExpectedRows {
  /** Returns the section that describes the rows of a format. */
  readonly sectionOf: (format: SysstatFormat) => RowSection | undefined
  /** Whether the metric is known, but the description of its rows is not. */
  readonly isUndescribed: boolean
}

/**
 * Reads a timepoint: the sections of pidstat, or the output of iostat. The lines determine the
 * format. Timepoints of other metrics are not read, and are reported as truncated only if their
 * closing marker is missing.
 *
 * @param isWhole whether the closing marker of the timepoint was found
 */
export function readTimepoint(
  lines: readonly string[],
  isWhole: boolean,
  { sectionOf, isUndescribed }: ExpectedRows,
): Timepoint {
  if (lines.every((line) => line.trim() === ''))
    return { ...NO_ROWS, cut: isWhole ? undefined : 'is cut' }
  if (hasSections(lines)) return ofProcesses(lines, isWhole, sectionOf('pidstat'))
  const devices = ofDevices(lines, isWhole, sectionOf('iostat'))
  if (!isUndescribed || devices.rows.length > 0) return devices
  return { ...devices, cut: isWhole ? undefined : 'may be cut' }
}

const NO_ROWS = { format: undefined, rows: [], reported: SILENT, isOurs: false } as const

function ofProcesses(
  lines: readonly string[],
  isWhole: boolean,
  section: RowSection | undefined,
): Timepoint {
  const { rows, broken } = readProcesses(lines, section?.columns ?? [])
  const clock = rows.find((row) => row.clock !== null)?.clock ?? null
  const missing = broken.length > 0 ? `is cut at ${broken.join(', ')}` : undefined
  return {
    format: 'pidstat',
    rows: rows.map(({ kind, cells, interval }) => {
      return { kind, section: section?.name ?? '', cells, interval }
    }),
    reported: { ...SILENT, clock },
    isOurs: rows.some((row) => row.isOurs),
    cut: missing ?? (isWhole ? undefined : 'may be cut'),
  }
}

function ofDevices(
  lines: readonly string[],
  isWhole: boolean,
  section: RowSection | undefined,
): Timepoint {
  const devices = readDevices(lines, section?.columns ?? [])
  // The last line of a truncated table may end within a number, and a truncated document is not
  // valid JSON.
  const isTable = !lines.join('').trimStart().startsWith('{')
  if (devices === undefined || (isTable && !isWhole)) return { ...NO_ROWS, cut: 'is cut' }
  return {
    format: 'iostat',
    rows: devices.rows.map((cells) => ({ kind: 'device', section: section?.name ?? '', cells })),
    reported: { clock: null, timestamp: devices.timestamp },
    isOurs: false,
    cut: undefined,
  }
}

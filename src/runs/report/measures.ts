import type { RowColumn, RowSection } from '../../core/catalog.ts'
import type { Sample } from '../log/columns.ts'
import { plotTitle } from './column-titles.ts'
import type { Titled } from './plots.ts'

/** A measure of a process or a device that the page plots over time. */
export interface Measure extends Titled {
  /** The column that contains its values. */
  readonly column: string
  /** The number that converts a value of the column to the unit; 1 if it is missing. */
  readonly factor?: number
}

/** The measures of processes that the page always plots, from the columns of pidstat. */
export const MEASURES = [
  { key: 'cpu', title: 'CPU', unit: '% of a core', column: 'percent_cpu' },
  { key: 'memory', title: 'Resident memory', unit: 'MiB', column: 'rss', factor: 1 / 1024 },
  { key: 'read', title: 'Read from storage', unit: 'KiB/s', column: 'kb_rd_s' },
  { key: 'written', title: 'Written to storage', unit: 'KiB/s', column: 'kb_wr_s' },
  { key: 'voluntary', title: 'Voluntary context switches', unit: '/s', column: 'cswch_s' },
  { key: 'involuntary', title: 'Involuntary context switches', unit: '/s', column: 'nvcswch_s' },
] as const satisfies readonly Measure[]

/** The measures of the node's devices that the page plots over time, from the columns of iostat. */
export const DEVICE_MEASURES: readonly Measure[] = [
  { key: 'util', title: 'Utilization', unit: '%', column: 'util' },
  { key: 'read', title: 'Read', unit: 'MiB/s', column: 'rmb_s' },
  { key: 'written', title: 'Written', unit: 'MiB/s', column: 'wmb_s' },
  { key: 'r_await', title: 'A read takes', unit: 'ms', column: 'r_await' },
  { key: 'w_await', title: 'A write takes', unit: 'ms', column: 'w_await' },
  { key: 'queue', title: 'Queue', unit: 'requests', column: 'aqu_sz' },
]

/**
 * Reports whether the rows of a section in JSON Lines are of processes and have all of `MEASURES`,
 * in the units of pidstat, as those of vitals.
 */
export function hasMeasures(section: RowSection): boolean {
  const names = new Set(section.columns.map(({ name }) => name))
  return section.of === 'process' && MEASURES.every(({ column }) => names.has(column))
}

/** Returns the value of a measure; null if it could not be read. */
export function readMeasure({ column, factor = 1 }: Measure, sample: Sample): number | null {
  const value = sample[column]
  return typeof value === 'number' ? value * factor : null
}

/** Returns a measure for each column with measured values and with one of the names. */
export function columnMeasures(
  columns: readonly RowColumn[],
  names: readonly string[],
): readonly Measure[] {
  return columns
    .filter(({ name, behavior }) => behavior !== undefined && names.includes(name))
    .map((column) => ({ ...plotTitle(column), column: column.name }))
}

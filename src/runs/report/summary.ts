import { computeMean, marksIn } from '../../lib/statistics.ts'
import { MEASURES, type Measure } from './measures.ts'
import { type Titled, titleOf } from './plots.ts'
import type { NumberSource, ProgramTotals } from './programs/program-totals.ts'
import type { TotalName } from './programs/quantities.ts'
import type { Track } from './track.ts'

/** The processes of one program in one pod. */
export interface Group {
  readonly pod: string
  readonly program: string
  /** The samples of the processes, all from one observer. */
  readonly tracks: readonly Track[]
  /** The log of the samples; undefined if there are none. */
  readonly sampled: NumberSource | undefined
  /** The totals, each from the log that is the best source; undefined if no log has any. */
  readonly totals: ProgramTotals | undefined
}

/** A column of the summary table. */
export interface SummaryColumn extends Titled {
  /** Whether the value is the mean of samples, and not a total. */
  readonly isMean: boolean
  readonly of: (group: Group) => number | null
  /**
   * The distance from the median that an outlier exceeds; null if values of this column are never
   * outliers.
   */
  readonly least: number | null
}

type Key = (typeof MEASURES)[number]['key']

const place = (key: Key) => MEASURES.findIndex((measure) => measure.key === key)

function mean(key: Key) {
  return meanAt(place(key))
}

function meanAt(index: number) {
  return ({ tracks }: Group) => {
    const values = tracks.flatMap((track) => track.values[index] ?? [])
    const intervals = tracks.flatMap((track) => track.intervals)
    return computeMean(values, intervals)
  }
}

/** Returns a total in the unit of its column. */
function total(name: TotalName, factor = 1) {
  return ({ totals }: Group) => {
    const { value = null } = totals?.totals[name] ?? {}
    return value === null ? null : value * factor
  }
}

const MIB = 1 / 1024 ** 2

const SUMMARY_COLUMNS: readonly SummaryColumn[] = [
  {
    key: 'processes',
    title: 'Processes',
    unit: '',
    of: total('processes'),
    isMean: false,
    least: null,
  },
  { key: 'cpu', title: 'CPU, mean', unit: '% of a core', of: mean('cpu'), isMean: true, least: 2 },
  {
    key: 'cpu_seconds',
    title: 'CPU time',
    unit: 's',
    of: total('cpuSeconds'),
    isMean: false,
    least: 1,
  },
  {
    key: 'memory',
    title: 'Memory, peak',
    unit: 'MiB',
    of: total('peakBytes', MIB),
    isMean: false,
    least: 1,
  },
  {
    key: 'read',
    title: 'Read',
    unit: 'MiB',
    of: total('bytesRead', MIB),
    isMean: false,
    least: 1,
  },
  {
    key: 'written',
    title: 'Written',
    unit: 'MiB',
    of: total('bytesWritten', MIB),
    isMean: false,
    least: 1,
  },
  {
    key: 'voluntary',
    title: 'Voluntary switches',
    unit: '/s',
    of: mean('voluntary'),
    isMean: true,
    least: 5,
  },
  {
    key: 'involuntary',
    title: 'Involuntary switches',
    unit: '/s',
    of: mean('involuntary'),
    isMean: true,
    least: 5,
  },
]

/**
 * Returns the columns of the table.
 *
 * @param measures the measures of processes. They begin with `MEASURES`; each further measure has a
 * column for its mean
 */
export function summaryColumns(measures: readonly Measure[]): readonly SummaryColumn[] {
  const more = measures.slice(MEASURES.length).map((measure, index) => ({
    ...titleOf(measure),
    title: `${measure.title}, mean`,
    of: meanAt(MEASURES.length + index),
    isMean: true,
    least: 1,
  }))
  return [...SUMMARY_COLUMNS, ...more]
}

/** A row: one program on one pod. */
export interface SummaryRow {
  readonly pod: string
  readonly program: string
  /** The program, if `program` is the name of a process that has more parts. */
  readonly process?: string
  readonly values: readonly (number | null)[]
  /** For each value, whether it is an outlier among the rows of the same program. */
  readonly marks: readonly boolean[]
}

/** Builds one row for each pod and program, and marks the outliers. */
export function summarise(
  groups: readonly Group[],
  columns: readonly SummaryColumn[],
): readonly SummaryRow[] {
  const rows = groups.map((group) => {
    const values = columns.map((column) => column.of(group))
    return { pod: group.pod, program: group.program, values }
  })
  const least = columns.map((column) => column.least)
  return markRows(rows, ({ program }) => program, least)
}

/** Marks the values of rows that are outliers among the rows of the same group; see `marksIn`. */
export function markRows<Row extends Pick<SummaryRow, 'values'>>(
  rows: readonly Row[],
  groupOf: (row: Row) => string,
  least: readonly (number | null)[],
): readonly (Row & Pick<SummaryRow, 'marks'>)[] {
  const marks = marksIn(rows, groupOf, ({ values }) => values, least)
  return rows.map((row, index) => ({ ...row, marks: marks[index] ?? [] }))
}

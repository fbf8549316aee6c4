import { MEASURES, type Measure } from './measures.ts'
import { type Titled, titleOf } from './plots.ts'
import { computeMean, computeTotal, marksIn, maximum } from './statistics.ts'
import type { Totals } from './totals.ts'
import type { Track } from './track.ts'

/** The processes of one program on one rank. In a report, a rank is a pod. */
export interface Group {
  readonly rank: string
  readonly program: string
  readonly tracks: readonly Track[]
  /** The totals that the observer computed. They take precedence over the totals of the samples. */
  readonly totals: Totals | undefined
}

/** A column of the summary table. */
export interface SummaryColumn extends Titled {
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

function total(key: Key, factor: number) {
  return ({ tracks }: Group) => {
    const totals = tracks.map(({ values, intervals }) =>
      computeTotal(values[place(key)] ?? [], intervals),
    )
    const isKnown = totals.length > 0 && totals.every((own) => own !== null)
    return isKnown ? totals.reduce((sum: number, own) => sum + (own ?? 0), 0) * factor : null
  }
}

function most(key: Key) {
  return ({ tracks }: Group) =>
    maximum(tracks.map(({ values }) => maximum(values[place(key)] ?? [])))
}

/**
 * Returns the total that the observer computed, or the total of the samples if the summary is
 * missing.
 */
function summed(own: keyof Totals, sampled: (group: Group) => number | null) {
  return (group: Group) => (group.totals === undefined ? sampled(group) : group.totals[own])
}

const SUMMARY_COLUMNS: readonly SummaryColumn[] = [
  {
    key: 'processes',
    title: 'Processes',
    unit: '',
    of: summed('processes', ({ tracks }) => tracks.length),
    least: null,
  },
  { key: 'cpu', title: 'CPU, mean', unit: '% of a core', of: mean('cpu'), least: 2 },
  {
    key: 'cpu_seconds',
    title: 'CPU time',
    unit: 's',
    of: summed('cpuSeconds', total('cpu', 0.01)),
    least: 1,
  },
  {
    key: 'memory',
    title: 'Memory, peak',
    unit: 'MiB',
    of: summed('peakMiB', most('memory')),
    least: 1,
  },
  {
    key: 'read',
    title: 'Read',
    unit: 'MiB',
    of: summed('readMiB', total('read', 1 / 1024)),
    least: 1,
  },
  {
    key: 'written',
    title: 'Written',
    unit: 'MiB',
    of: summed('writtenMiB', total('written', 1 / 1024)),
    least: 1,
  },
  { key: 'voluntary', title: 'Voluntary switches', unit: '/s', of: mean('voluntary'), least: 5 },
  {
    key: 'involuntary',
    title: 'Involuntary switches',
    unit: '/s',
    of: mean('involuntary'),
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
    least: 1,
  }))
  return [...SUMMARY_COLUMNS, ...more]
}

/** A row: one program on one rank. */
export interface SummaryRow {
  readonly rank: string
  readonly program: string
  readonly values: readonly (number | null)[]
  /** For each value, whether it is an outlier among the rows of the same program. */
  readonly marks: readonly boolean[]
}

/** Builds one row for each rank and program, and marks the outliers. */
export function summarise(
  groups: readonly Group[],
  columns: readonly SummaryColumn[],
): readonly SummaryRow[] {
  const rows = groups.map((group) => {
    const values = columns.map((column) => column.of(group))
    return { rank: group.rank, program: group.program, values }
  })
  const least = columns.map((column) => column.least)
  const marks = marksIn(
    rows,
    ({ program }) => program,
    ({ values }) => values,
    least,
  )
  return rows.map((row, index) => ({ ...row, marks: marks[index] ?? [] }))
}

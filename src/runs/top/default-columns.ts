import { METRICS } from '../metrics/index.ts'
import type { RunMetric, ShownColumn } from '../metrics/metric.ts'

/** A measured column of a metric's section, and how `top` shows it. */
export interface ColumnChoice extends ShownColumn {
  readonly metric: string
}

/** The first titles of the table: what a pod uses, and what delays it. */
const TITLES = ['CPU', 'WAIT', 'THROTTLED', 'MEMORY', 'READ', 'WRITTEN', 'SENT', 'RECEIVED']

const CHOICES: readonly ColumnChoice[] = METRICS.flatMap(
  ({ name: metric, topColumns = [] }: RunMetric) => topColumns.map((one) => ({ ...one, metric })),
)

/**
 * The columns that `top` shows without a request. In each list, `top` uses the first column whose
 * metric is observed.
 */
export const DEFAULT_COLUMNS: readonly (readonly ColumnChoice[])[] = [
  ...new Set([...TITLES, ...CHOICES.map(({ title }) => title)]),
].map((wanted) => {
  const own = CHOICES.filter(({ title }) => title === wanted)
  return own.toSorted((a, b) => Number(a.isFallback === true) - Number(b.isFallback === true))
})

/** The title of the column by which the lines are sorted at first, if it is shown. */
export const FIRST_SORT = 'WAIT'

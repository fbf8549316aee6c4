/** A measured column of a metric's section, and how `top` shows it. */
export interface ColumnChoice {
  /** The title in the table. */
  readonly title: string
  readonly metric: string
  readonly section: string
  readonly column: string
  /** How the values of several rows become one value in a line of the table. */
  readonly total: Total
  /** The number that converts a value to the unit of the table; 1 if it is missing. */
  readonly factor?: number
  /** The unit of the table; the unit of the column if it is missing. */
  readonly unit?: string
}

/**
 * How the values of several rows become one value. `greatest` is for gauges that cannot be added,
 * such as a temperature.
 */
export type Total = 'sum' | 'greatest'

/** Converts seconds per second to percent of a core, or of the time. */
const SHARE = { factor: 100, unit: 'percent' } as const

const ofProcess = (metric: string, column: string) =>
  ({ metric, section: 'process', column, total: 'sum' }) as const

const ofContainer = (metric: string, column: string) =>
  ({ metric, section: 'container', column, total: 'sum' }) as const

/** Returns a column of the TCP connections of processes, from network or from vitals. */
const ofSocket = (title: string, column: string) =>
  [
    { title, metric: 'network', section: 'socket', column, total: 'sum' },
    { title, metric: 'vitals', section: 'peer', column, total: 'sum' },
  ] as const

/**
 * The columns that `top` shows without a request: what a rank uses, and what delays it. In each
 * list, `top` uses the first column whose metric is observed.
 */
export const DEFAULT_COLUMNS: readonly (readonly ColumnChoice[])[] = [
  [
    { title: 'CPU', ...ofProcess('perf-sysstat', 'percent_cpu') },
    { title: 'CPU', ...ofProcess('pressure', 'cpu_time'), ...SHARE },
    { title: 'CPU', ...ofProcess('vitals', 'percent_cpu') },
  ],
  [
    { title: 'WAIT', ...ofProcess('pressure', 'run_delay'), ...SHARE },
    { title: 'WAIT', ...ofProcess('vitals', 'run_delay'), ...SHARE },
    { title: 'WAIT', ...ofProcess('perf-sysstat', 'percent_wait') },
  ],
  [
    { title: 'THROTTLED', ...ofContainer('pressure', 'throttled'), ...SHARE },
    { title: 'THROTTLED', ...ofContainer('vitals', 'throttled'), ...SHARE },
  ],
  [
    { title: 'MEMORY', ...ofProcess('perf-sysstat', 'rss') },
    { title: 'MEMORY', ...ofProcess('vitals', 'rss') },
    { title: 'MEMORY', ...ofContainer('pressure', 'memory_current') },
  ],
  [
    { title: 'READ', ...ofProcess('perf-sysstat', 'kb_rd_s') },
    { title: 'READ', ...ofProcess('vitals', 'kb_rd_s') },
  ],
  [
    { title: 'WRITTEN', ...ofProcess('perf-sysstat', 'kb_wr_s') },
    { title: 'WRITTEN', ...ofProcess('vitals', 'kb_wr_s') },
  ],
  ofSocket('SENT', 'bytes_sent'),
  ofSocket('RECEIVED', 'bytes_received'),
]

/** The title of the column by which the lines are sorted at first, if it is shown. */
export const FIRST_SORT = 'WAIT'

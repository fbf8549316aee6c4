import type { RowCells, Sample } from './columns.ts'

/** The rows of a metric in a log that grows, which count when their timepoint is complete. */
export interface TimepointRows {
  /**
   * Takes a row of a timepoint, which counts from the next call of `settle` on.
   *
   * @param at when the row was taken, in milliseconds since 1970
   */
  readonly take: (section: string, at: number, cells: RowCells) => void
  /** Makes the rows count that were taken, because those of their timepoint are complete. */
  readonly settle: () => void
  /** Forgets all rows. */
  readonly clear: () => void
}

export interface TimepointRowsOptions {
  /** Identifies the pod. */
  readonly source: string
  readonly metric: string
  /** Whether rows of a section are read. */
  readonly reads: (section: string) => boolean
  /** Adds a row that counts. */
  readonly add: (section: string, row: Sample) => void
  /** Forgets the rows that were added. */
  readonly forget: () => void
}

/** The most untaken rows. More rows of a timepoint are not from an observer, and are dropped. */
const MAX_ROWS = 20_000

interface TakenRow {
  readonly section: string
  readonly at: number
  readonly cells: RowCells
}

interface State {
  rows: TakenRow[]
  /** The time of the first row and of the last timepoint, and the number of this timepoint. */
  firstAt: number | undefined
  lastAt: number
  timepoint: number
}

export function startTimepointRows(options: TimepointRowsOptions): TimepointRows {
  const state = noRows()
  return {
    take: (section, at, cells) => {
      if (!options.reads(section) || state.rows.length >= MAX_ROWS) return
      state.rows.push({ section, at, cells })
    },
    settle: () => {
      const { rows } = state
      state.rows = []
      for (const row of rows) addRow(state, row, options)
    },
    clear: () => {
      Object.assign(state, noRows())
      options.forget()
    },
  }
}

function noRows(): State {
  return { rows: [], firstAt: undefined, lastAt: 0, timepoint: 0 }
}

function addRow(
  state: State,
  { section, at, cells }: TakenRow,
  { source, metric, add }: TimepointRowsOptions,
): void {
  if (at < state.lastAt) return
  state.firstAt ??= at
  if (at > state.lastAt) state.timepoint += 1
  state.lastAt = at
  const { timepoint, firstAt } = state
  const place = { source, metric, namespace: null, pod: null, node: null, rank: null }
  const time = new Date(at).toISOString()
  const moment = { timepoint, time, seconds: (at - firstAt) / 1000, interval: null }
  add(section, { ...cells, kind: 'process', section, ...place, ...moment })
}

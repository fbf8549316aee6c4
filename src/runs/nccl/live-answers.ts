import type { RowCells } from '../log/columns.ts'
import { addNcclRow, NCCL_METRIC, type NcclRun, newNcclRun } from './nccl-run.ts'

/** What a log of nccl-ras that grows says about the ranks of NCCL. */
export interface LiveAnswers {
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
  readonly run: () => NcclRun
}

/** The most untaken rows. The observer writes at most 145 rows in a timepoint. */
const MOST_ROWS = 20_000

interface TakenRow {
  readonly section: string
  readonly at: number
  readonly cells: RowCells
}

interface State {
  readonly source: string
  run: NcclRun
  rows: TakenRow[]
  /** The time of the first row and of the last timepoint, and the number of this timepoint. */
  firstAt: number | undefined
  lastAt: number
  timepoint: number
}

/** @param source identifies the pod */
export function startLiveAnswers(source: string): LiveAnswers {
  const state: State = { source, ...noRows() }
  return {
    take: (section, at, cells) => {
      if (state.rows.length < MOST_ROWS) state.rows.push({ section, at, cells })
    },
    settle: () => {
      const { rows } = state
      state.rows = []
      for (const row of rows) addRow(state, row)
    },
    clear: () => Object.assign(state, noRows()),
    run: () => state.run,
  }
}

function noRows(): Omit<State, 'source'> {
  return { run: newNcclRun(), rows: [], firstAt: undefined, lastAt: 0, timepoint: 0 }
}

function addRow(state: State, { section, at, cells }: TakenRow): void {
  if (at < state.lastAt) return
  state.firstAt ??= at
  if (at > state.lastAt) {
    state.timepoint += 1
    forgetOld(state)
  }
  state.lastAt = at
  const { source, timepoint, firstAt } = state
  const place = { source, metric: NCCL_METRIC, namespace: null, pod: null, node: null, rank: null }
  const time = new Date(at).toISOString()
  const moment = { timepoint, time, seconds: (at - firstAt) / 1000, interval: null }
  addNcclRow(state.run, section, { ...cells, kind: 'process', section, ...place, ...moment })
}

/** The most processes, those that have ended included, before these are forgotten. */
const MOST_PROCESSES = 256

/** Forgets the processes without a row in the last timepoint, if there are many. */
function forgetOld({ run, firstAt = 0, lastAt }: State): void {
  if (run.processes.size < MOST_PROCESSES) return
  const last = (lastAt - firstAt) / 1000
  for (const [key, { seconds }] of run.processes) if (seconds < last) run.processes.delete(key)
}

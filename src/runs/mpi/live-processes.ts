import type { RowCells } from '../log/columns.ts'
import { addMpiRow, MPI_METRIC, type MpiRun, newMpiRun } from './mpi-run.ts'

/** The processes of MPI in a log that grows, as its last rows describe them. */
export interface LiveProcesses {
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
  readonly calls: () => Pick<MpiRun, 'processes' | 'starting'>
}

/** The sections that say whether a process makes progress. */
const SECTIONS: ReadonlySet<string> = new Set(['rank', 'open', 'progress', 'start'])

/**
 * The most processes and untaken rows. The recorder has at most 128 processes in a pod; more rows
 * are not from an observer, and are dropped.
 */
const MOST_PROCESSES = 1024
const MOST_ROWS = 20_000

interface TakenRow {
  readonly section: string
  readonly at: number
  readonly cells: RowCells
}

interface State {
  readonly source: string
  run: MpiRun
  rows: TakenRow[]
  /** The time of the first row and of the last timepoint, and the number of this timepoint. */
  firstAt: number | undefined
  lastAt: number
  timepoint: number
}

/** @param source identifies the pod */
export function startLiveProcesses(source: string): LiveProcesses {
  const state: State = { source, ...noRows() }
  return {
    take: (section, at, cells) => {
      if (!SECTIONS.has(section) || state.rows.length >= MOST_ROWS) return
      state.rows.push({ section, at, cells })
    },
    settle: () => {
      const { rows } = state
      state.rows = []
      for (const row of rows) addRow(state, row)
    },
    clear: () => Object.assign(state, noRows()),
    calls: () => state.run,
  }
}

function noRows(): Omit<State, 'source'> {
  return { run: newMpiRun(true), rows: [], firstAt: undefined, lastAt: 0, timepoint: 0 }
}

function addRow(state: State, { section, at, cells }: TakenRow): void {
  if (at < state.lastAt) return
  state.firstAt ??= at
  if (at > state.lastAt) state.timepoint += 1
  state.lastAt = at
  if (sizeOf(state.run) >= MOST_PROCESSES) state.run = withoutEnded(state.run)
  if (sizeOf(state.run) >= MOST_PROCESSES) return
  const { source, timepoint, firstAt } = state
  const place = { source, metric: MPI_METRIC, namespace: null, pod: null, node: null, rank: null }
  const time = new Date(at).toISOString()
  const moment = { timepoint, time, seconds: (at - firstAt) / 1000, interval: null }
  addMpiRow(state.run, section, { ...cells, kind: 'process', section, ...place, ...moment })
}

function sizeOf({ processes, starting }: MpiRun): number {
  return processes.length + starting.size
}

/** Forgets processes that have ended. Those that have replaced each other use up the room. */
function withoutEnded(run: MpiRun): MpiRun {
  const processes = run.processes.filter(({ state }) => state === 'running')
  const running = [...run.running].filter(([, process]) => processes.includes(process))
  const starting = [...run.starting].filter(([, { endedAt }]) => endedAt === null)
  return { ...run, processes, running: new Map(running), starting: new Map(starting) }
}

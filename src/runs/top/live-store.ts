import { type Attempts, compareAttempt } from '../evidence/attempts.ts'
import type { MetricStore } from '../evidence/stores.ts'
import type { RowCells, Sample } from '../log/columns.ts'
import { findMetric } from '../metrics/index.ts'
import type { RowTaker } from './live-log.ts'

/**
 * The store of a metric with the last rows of a log that grows. The rows of a timepoint count when
 * it is complete.
 */
export interface LiveStore extends RowTaker {
  readonly store: () => unknown
}

/** The most rows of a timepoint. More are not from an observer, and are dropped. */
const MAX_ROWS = 20_000

interface TakenRow {
  readonly section: string
  readonly at: number
  readonly cells: RowCells
}

interface State {
  store: unknown
  rows: TakenRow[]
  /** The time of the first row and of the last timepoint, and the number of this timepoint. */
  firstAt: number | undefined
  lastAt: number
  timepoint: number
  attempts: Attempts
}

/**
 * Starts the store of the rows that show whether processes make progress.
 *
 * @param source identifies the pod
 * @returns undefined if the metric has no such rows
 */
export function startLiveStore(metric: string | null, source: string): LiveStore | undefined {
  const { store: of, stuck } = findMetric(metric) ?? {}
  if (of === undefined || stuck === undefined) return undefined
  const { isRead, create = of.create } = stuck.live
  const empty = (): State => {
    const rows = { rows: [], firstAt: undefined, lastAt: 0, timepoint: 0 }
    return { store: create(), ...rows, attempts: new Map() }
  }
  const state = empty()
  return {
    take: (section, at, cells) => {
      if (isRead(section) && state.rows.length < MAX_ROWS) state.rows.push({ section, at, cells })
    },
    settle: () => {
      const { rows } = state
      state.rows = []
      for (const row of rows) addRow(state, row, of, source)
    },
    clear: () => Object.assign(state, empty()),
    store: () => state.store,
  }
}

function addRow(
  state: State,
  { section, at, cells }: TakenRow,
  of: MetricStore,
  source: string,
): void {
  if (at < state.lastAt) return
  state.firstAt ??= at
  if (at > state.lastAt) beginTimepoint(state, at, of)
  const { timepoint, firstAt } = state
  const place = {
    source,
    metric: of.metric,
    namespace: null,
    pod: null,
    node: null,
    pod_index: null,
  }
  const time = new Date(at).toISOString()
  const moment = { timepoint, time, seconds: (at - firstAt) / 1000, interval: null }
  const sample = { ...cells, kind: 'process', section, ...place, ...moment } as Sample
  const attempt = compareAttempt(state.attempts, sample)
  if (attempt === 'earlier') return
  if (attempt === 'next') state.store = of.keepLogs(state.store, () => false)
  if (of.isFull?.(state.store) !== true) of.add(state.store, section, sample)
}

function beginTimepoint(state: State, at: number, { forgetEnded }: MetricStore): void {
  const { store, firstAt = at, lastAt } = state
  state.store = forgetEnded?.(store, (lastAt - firstAt) / 1000) ?? store
  state.timepoint += 1
  state.lastAt = at
}

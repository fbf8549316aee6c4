import type { RowsDescription } from '../../core/catalog.ts'
import { findMetric } from '../metrics/index.ts'
import { startLiveLog } from './live-log.ts'
import { startLiveStore } from './live-store.ts'
import type { LiveObserver, LivePod } from './pods.ts'

/** A log of which only the rows are kept that say whether processes make progress. */
export interface ProgressLog {
  readonly observer: LiveObserver
  /** The number of characters of the rows in the last two timepoints. */
  readonly size: number
  /** Whether a timepoint had more rows than an observer writes. They are not kept. */
  readonly isTooLarge: boolean
  /**
   * Reads the next line.
   *
   * @param until in milliseconds since 1970
   * @returns false if the row in the line is newer. The line must then be read again later
   */
  push(line: string, until: number): boolean
}

/** Reports whether a metric has rows that say whether processes make progress, or why not. */
export function hasProgress(metric: string): boolean {
  return findMetric(metric)?.stuck !== undefined
}

/** The beginning of a row, as observers write it. */
const ROW = /^\{"time":"([^"]{1,40})","section":"([^"]{1,40})"/

/** The most characters of the rows in a timepoint. */
const MAX_CHARACTERS = 2 ** 20

interface State {
  /** The time of the last row, and the characters of the rows in the last two timepoints. */
  at: number
  newest: number
  before: number
  isTooLarge: boolean
}

/** @param description the description of the metric's rows */
export function startProgressLog(
  { namespace, pod }: Pick<LivePod, 'namespace' | 'pod'>,
  metric: string,
  description: RowsDescription,
): ProgressLog {
  const reads = findMetric(metric)?.stuck?.live.isRead ?? (() => false)
  const sections = description.sections.filter(({ name }) => reads(name))
  const live = startLiveStore(metric, `${namespace}/${pod}`)
  const log = startLiveLog({ ...description, sections }, live)
  const state: State = { at: 0, newest: 0, before: 0, isTooLarge: false }
  const facts = { isShown: false, hasStarted: true, isRead: true, isOver: false }
  return {
    observer: { metric, log, live, ...facts, seenAt: undefined, clockAhead: 0 },
    get size() {
      return state.newest + state.before
    },
    get isTooLarge() {
      return state.isTooLarge
    },
    push(line, until) {
      if (!line.startsWith('{')) {
        log.push(line, until)
        return true
      }
      const [, time = '', section = ''] = ROW.exec(line) ?? []
      const at = Date.parse(time)
      if (at > until) return false
      if (reads(section) && hasRoom(state, at, line.length)) log.push(line, at)
      return true
    },
  }
}

/** Counts a row, and reports whether it may be kept. */
function hasRoom(state: State, at: number, size: number): boolean {
  if (at !== state.at) Object.assign(state, { at, newest: 0, before: state.newest })
  state.newest += size
  state.isTooLarge ||= state.newest > MAX_CHARACTERS
  return !state.isTooLarge
}

import type { RowsDescription } from '../../core/catalog.ts'
import { PROGRESS_SECTIONS } from '../metrics/mpi-trace/live-processes.ts'
import { MPI_METRIC } from '../metrics/mpi-trace/mpi-run.ts'
import { NCCL_METRIC } from '../metrics/nccl-ras/nccl-run.ts'
import { PYTHON_METRIC, STACK_SECTIONS } from '../metrics/python-profile/current-stacks.ts'
import { startLiveLog } from './live-log.ts'
import type { LiveObserver, LiveRank } from './ranks.ts'
import { joinedTaker, startJobTakers } from './row-takers.ts'

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

/** The sections that are read, by metric. */
const SECTIONS: ReadonlyMap<string, (section: string) => boolean> = new Map([
  [MPI_METRIC, (section: string) => PROGRESS_SECTIONS.has(section)],
  [NCCL_METRIC, () => true],
  [PYTHON_METRIC, (section: string) => STACK_SECTIONS.has(section)],
])

/** Reports whether a metric has rows that say whether processes make progress, or why not. */
export function hasProgress(metric: string): boolean {
  return SECTIONS.has(metric)
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
  { namespace, pod }: Pick<LiveRank, 'namespace' | 'pod'>,
  metric: string,
  description: RowsDescription,
): ProgressLog {
  const reads = SECTIONS.get(metric) ?? (() => false)
  const sections = description.sections.filter(({ name }) => reads(name))
  const takers = startJobTakers(metric, `${namespace}/${pod}`)
  const log = startLiveLog({ ...description, sections }, joinedTaker(takers))
  const state: State = { at: 0, newest: 0, before: 0, isTooLarge: false }
  const facts = { isShown: false, hasStarted: true, isRead: true, isOver: false }
  return {
    observer: { metric, log, ...takers, ...facts, seenAt: undefined, clockAhead: 0 },
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

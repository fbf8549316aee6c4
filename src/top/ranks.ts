import type { TopColumn } from './columns.ts'
import type { LiveLog } from './live-log.ts'
import { computeValue, type TopValue } from './values.ts'

/** An observer of a pod, with its log and its state. */
export interface LiveObserver {
  readonly metric: string
  readonly log: LiveLog
  /** Whether the container has started. */
  hasStarted: boolean
  /** Whether the log is or was read; only a bounded number of logs is followed. */
  isRead: boolean
  /** Whether the container has ended, or its pod is gone. */
  isOver: boolean
  /**
   * When a row last arrived while the log was followed, in milliseconds since 1970 on the clock of
   * this machine; undefined if all known rows were written earlier.
   */
  seenAt: number | undefined
}

/** A pod of the run, with its observers. */
export interface LiveRank {
  readonly namespace: string
  readonly pod: string
  readonly node: string | null
  /** The number of the pod in its workload; null if it is not known. */
  readonly rank: string | null
  readonly observers: readonly LiveObserver[]
}

/** Whether each line of the table is a rank, or a program of a rank. */
export type LineUnit = 'rank' | 'program'

/** The state of a line. `ms` is the time without rows, in milliseconds. */
export type LineState =
  | { readonly is: 'running' | 'ended' | 'waiting' | 'unread' }
  | { readonly is: 'silent'; readonly ms: number }

/** A line of the table. */
export interface TopLine {
  /** The rank, or the name of the pod. */
  readonly label: string
  readonly namespace: string
  readonly pod: string
  readonly node: string | null
  /** The program; null in a line of a rank. */
  readonly program: string | null
  readonly state: LineState
  /** The values of the columns, in their order. */
  readonly values: readonly TopValue[]
}

const natural = new Intl.Collator('en', { numeric: true }).compare

/** Compares two ranks by their labels, and then by pod. Numbers in names are compared by value. */
export function compareRanks(a: LiveRank, b: LiveRank): number {
  return natural(labelOf(a), labelOf(b)) || natural(a.pod, b.pod)
}

function labelOf({ rank, pod }: LiveRank): string {
  return rank ?? pod
}

/**
 * Builds the lines of the ranks, in their order.
 *
 * @param now the current time, in milliseconds since 1970
 */
export function buildLines(
  ranks: readonly LiveRank[],
  columns: readonly TopColumn[],
  unit: LineUnit,
  now: number,
): readonly TopLine[] {
  return ranks.flatMap((rank) => {
    const state = stateOf(rank, now)
    const { namespace, pod, node } = rank
    const label = labelOf(rank)
    return programsOf(rank, unit).map((program) => {
      return { label, namespace, pod, node, program, state, values: values(rank, columns, program) }
    })
  })
}

function values(
  { observers }: LiveRank,
  columns: readonly TopColumn[],
  program: string | null,
): readonly TopValue[] {
  return columns.map((column) => {
    const observer = observers.find(({ metric }) => metric === column.metric)
    const section = observer?.log.sections.get(column.section)
    if (section === undefined) return null
    return computeValue(column, section, (cells) => program === null || cells.program === program)
  })
}

/** Returns the programs in the last rows of a rank, or null for the line of the rank itself. */
function programsOf({ observers }: LiveRank, unit: LineUnit): readonly (string | null)[] {
  if (unit === 'rank') return [null]
  const sections = observers.flatMap(({ log }) => [...log.sections.values()])
  const rows = sections.flatMap(({ now }) => [...(now?.rows.values() ?? [])])
  const programs = rows.flatMap(({ program }) => (typeof program === 'string' ? program : []))
  return [...new Set(programs)].sort()
}

/**
 * A rank is silent after this many intervals without rows, and at least `SILENT_MS` milliseconds;
 * if the interval is not known, after `SILENT_UNKNOWN_MS` milliseconds.
 */
const SILENT_INTERVALS = 3
const SILENT_MS = 5000
const SILENT_UNKNOWN_MS = 30_000

function stateOf({ observers }: LiveRank, now: number): LineState {
  if (observers.every(({ isOver, log }) => isOver || log.hasEnded())) return { is: 'ended' }
  const running = observers.filter(({ isOver, log }) => !isOver && !log.hasEnded())
  if (running.every(({ hasStarted, isRead }) => hasStarted && !isRead)) return { is: 'unread' }
  const silences = running.flatMap((observer) => silenceOf(observer, now) ?? [])
  if (silences.length > 0) return { is: 'silent', ms: Math.max(...silences) }
  const hasRows = observers.some(({ log }) => log.lastAt() !== undefined)
  return { is: hasRows ? 'running' : 'waiting' }
}

/** Returns the milliseconds since the last row; undefined if it is recent, or there is no row. */
function silenceOf({ log, seenAt }: LiveObserver, now: number): number | undefined {
  const last = seenAt ?? log.lastAt()
  if (last === undefined) return undefined
  const interval = log.interval()
  const usual =
    interval === undefined ? SILENT_UNKNOWN_MS : Math.max(interval * SILENT_INTERVALS, SILENT_MS)
  return now - last > usual ? now - last : undefined
}

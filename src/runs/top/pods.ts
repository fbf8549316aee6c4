import { chooseSource } from '../../core/rules/choose-source.ts'
import type { RowOrigin } from '../log/columns.ts'
import { labelPods } from '../report/labels.ts'
import { sourcesOf, type TopColumn } from './columns.ts'
import type { LogEvidence } from './findings/log-evidence.ts'
import type { LiveLog } from './live-log.ts'
import type { LiveStore } from './live-store.ts'
import { computeValue, programsIn, type TopValue } from './values.ts'

/** An observer of a pod, with its log and its state. */
export interface LiveObserver {
  readonly metric: string
  readonly log: LiveLog
  /** Whether the table has columns of the metric. */
  readonly isShown: boolean
  /** The last rows that say whether processes make progress; missing if none say that. */
  readonly live?: LiveStore | undefined
  /** The evidence of the log for findings and the efficiency; missing if they are not shown. */
  readonly evidence?: LogEvidence
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
  /** The milliseconds by which the clock of the cluster is ahead of that of this machine. */
  clockAhead: number
}

/** A pod of the run, with its observers. */
export interface LivePod {
  readonly namespace: string
  readonly pod: string
  readonly node: string | null
  /** The index or role of the pod in its workload; null if it is not known. */
  readonly pod_index: string | null
  readonly observers: readonly LiveObserver[]
}

/** Whether each line of the table is a pod, or a program of a pod. */
export type LineUnit = 'pod' | 'program'

/** The state of a line. `ms` is the time without rows, in milliseconds. */
export type LineState =
  | { readonly is: 'running' | 'ended' | 'waiting' | 'unread' }
  | { readonly is: 'silent'; readonly ms: number }

/** A line of the table. */
export interface TopLine {
  /** The index or role of the pod, or its name if it has none. */
  readonly label: string
  readonly namespace: string
  readonly pod: string
  readonly node: string | null
  /** The program; null in a line of a pod, and if no program of the pod has rows now. */
  readonly program: string | null
  readonly state: LineState
  /** The names of the findings about the pod, the worst first. */
  readonly findings: readonly string[]
  /** The values of the columns, in their order. */
  readonly values: readonly TopValue[]
}

const natural = new Intl.Collator('en', { numeric: true }).compare

/** Compares two pods by their labels, and then by name. Numbers in names are compared by value. */
export function comparePods(a: LivePod, b: LivePod): number {
  return natural(labelOf(a), labelOf(b)) || natural(a.pod, b.pod)
}

function labelOf({ pod_index, pod }: LivePod): string {
  return pod_index ?? pod
}

/** Returns the name of a log: NAMESPACE/POD/CONTAINER. The container has the name of the metric. */
export function logName({ namespace, pod }: Pick<LivePod, 'namespace' | 'pod'>, metric: string) {
  return `${namespace}/${pod}/${metric}`
}

/** Returns the pod of a log, as NAMESPACE/POD. If it is not known, the log has its own name. */
export function podName({ namespace, pod, source }: RowOrigin): string {
  return `${namespace ?? ''}/${pod ?? source ?? ''}`
}

/** The names of pods in findings, as in the report. */
export interface PodLabels {
  /** Returns the name of the pod of a log. */
  readonly podOf: (source: string) => string
  /** Returns NAMESPACE/POD for a name that `podOf` returns. */
  readonly nameOf: (pod: string) => string
}

/** Names the pods. The name of each pod is unique. */
export function podLabels(pods: readonly LivePod[]): PodLabels {
  const logs = pods.flatMap(({ observers, ...place }) =>
    observers.map(({ metric }) => ({ ...place, metric, source: logName(place, metric) })),
  )
  const labels = labelPods(logs)
  const names = new Map(
    logs.map(({ source, namespace, pod }) => [labels.get(source), `${namespace}/${pod}`]),
  )
  return {
    podOf: (source) => labels.get(source) ?? source,
    nameOf: (pod) => names.get(pod) ?? pod,
  }
}

/** The facts about lines that do not come from their last rows. */
export interface LineFacts {
  /** The current time, in milliseconds since 1970. */
  readonly now: number
  /** The names of the findings of each pod, as NAMESPACE/POD. */
  readonly findings: ReadonlyMap<string, readonly string[]>
}

/** Builds the lines of the pods, in their order. */
export function buildLines(
  pods: readonly LivePod[],
  columns: readonly TopColumn[],
  unit: LineUnit,
  { now, findings: byPod }: LineFacts,
): readonly TopLine[] {
  return pods.flatMap((live): readonly TopLine[] => {
    const state = stateOf(live, now)
    const { namespace, pod, node } = live
    const findings = byPod.get(`${namespace}/${pod}`) ?? []
    const line = { label: labelOf(live), namespace, pod, node, state, findings, program: null }
    if (unit === 'pod') return [{ ...line, values: values(live, columns, null) }]
    const programs = programsOf(live)
    if (programs.length === 0) return [{ ...line, values: columns.map(() => null) }]
    return programs.map((program) => {
      return { ...line, program, values: values(live, columns, program) }
    })
  })
}

function values(
  { observers }: LivePod,
  columns: readonly TopColumn[],
  program: string | null,
): readonly TopValue[] {
  return columns.map((column) => {
    const sources = sourcesOf(column).map((source, order) => {
      const value = observedValue(observers, { ...column, ...source }, program)
      const inUnit = value === null ? null : (value * source.factor) / column.factor
      return { ...EQUAL, value: order === 0 ? value : inUnit, isKnown: value !== null, order }
    })
    return chooseSource(sources)?.source.value ?? null
  })
}

/** While a run goes on, the sources of a value differ only in whether they have one. */
const EQUAL = { isCounted: true, coversEnded: false, isTotal: false, isWhole: true }

function observedValue(
  observers: readonly LiveObserver[],
  column: TopColumn,
  program: string | null,
): TopValue {
  const observer = observers.find(({ metric }) => metric === column.metric)
  const section = observer?.log.sections().get(column.section)
  return section === undefined ? null : computeValue(column, section, program)
}

/** Returns the programs in the current rows of a pod. */
function programsOf({ observers }: LivePod): readonly string[] {
  const sections = observers.flatMap(({ log }) => [...log.sections().values()])
  return [...new Set(sections.flatMap((section) => [...programsIn(section).keys()]))].sort()
}

/**
 * A pod is silent after this many intervals without rows, and at least `SILENT_MS` milliseconds;
 * if the interval is not known, after `SILENT_UNKNOWN_MS` milliseconds.
 */
const SILENT_INTERVALS = 3
const SILENT_MS = 5000
const SILENT_UNKNOWN_MS = 30_000

/** Returns the state of the observers whose columns are shown; if there are none, of all. */
function stateOf({ observers: all }: LivePod, now: number): LineState {
  const shown = all.filter(({ isShown }) => isShown)
  const observers = shown.length > 0 ? shown : all
  if (observers.every(({ isOver, log }) => isOver || log.hasEnded())) return { is: 'ended' }
  const running = observers.filter(({ isOver, log }) => !isOver && !log.hasEnded())
  if (running.every(({ hasStarted, isRead }) => hasStarted && !isRead)) return { is: 'unread' }
  const silences = running.flatMap((observer) => silenceOf(observer, now) ?? [])
  if (silences.length > 0) return { is: 'silent', ms: Math.max(...silences) }
  const hasRows = observers.some(({ log }) => log.lastAt() !== undefined)
  return { is: hasRows ? 'running' : 'waiting' }
}

/** Returns the milliseconds since the last row; undefined if it is recent, or there is no row. */
export function silenceOf(
  { log, seenAt, clockAhead }: LiveObserver,
  now: number,
): number | undefined {
  const lastAt = log.lastAt()
  const last = seenAt ?? (lastAt === undefined ? undefined : lastAt - clockAhead)
  if (last === undefined) return undefined
  const interval = log.interval()
  const usual =
    interval === undefined ? SILENT_UNKNOWN_MS : Math.max(interval * SILENT_INTERVALS, SILENT_MS)
  return now - last > usual ? now - last : undefined
}

import type { RowsDescription } from '../../core/catalog.ts'
import { median } from '../../lib/statistics.ts'
import { findSection } from '../evidence/evidence.ts'
import type { RowOrigin, Sample } from '../log/columns.ts'
import type { Descriptions } from '../log/descriptions.ts'
import type { LogEntry } from '../log/entry.ts'
import { chooseColumns, sourcesOf, type TopColumn } from './columns.ts'
import { startLiveLog } from './live-log.ts'
import { comparePods, type LiveObserver, type LivePod } from './pods.ts'
import type { RecordedLog } from './recorded-logs.ts'
import { startTakers } from './row-takers.ts'

/** Recorded logs whose rows are shown one after another, at the times of the logs. */
export interface Replay {
  readonly pods: readonly LivePod[]
  readonly columns: readonly TopColumn[]
  /** The time of the first and of the last row, in milliseconds since 1970. */
  readonly from: number
  readonly to: number
  /** The median of the milliseconds between two timepoints of a log; undefined without two. */
  readonly interval: number | undefined
  /** The metrics whose rows are not described. */
  readonly undescribed: readonly string[]
  /** Shows the rows until a time. The time must not be before that of the last call. */
  readonly advance: (to: number) => void
}

/** The recorded logs of one metric of a pod, of which each restart of the container has one. */
interface Observer extends LiveObserver {
  /** The log whose rows were shown last. */
  current: RecordedLog | undefined
  /** The number of rows that are still to be shown. */
  left: number
}

interface RecordedPod extends Omit<LivePod, 'observers'> {
  readonly observers: Observer[]
}

/** A row, and the observer that wrote it. */
interface Step {
  readonly at: number
  readonly sample: Sample
  readonly observer: Observer
  readonly log: RecordedLog
}

/**
 * Prepares to show recorded logs.
 *
 * @param names the names of columns that the user requests
 */
export function startReplay(
  logs: readonly RecordedLog[],
  descriptions: Descriptions,
  names: readonly string[],
): Replay {
  const metrics = new Set(logs.flatMap(({ place }) => place.metric ?? []))
  const known = withOwn(descriptions, logs)
  const columns = chooseColumns(known, metrics, names)
  const pods = new Map<string, RecordedPod>()
  const steps: Step[] = []
  for (const log of logs) {
    const description = known.get(log.place.metric ?? '')
    if (description === undefined) continue
    const observer = observerOf(pods, log, description, columns)
    observer.left += log.rows.length
    for (const { at, sample } of log.rows) steps.push({ at, sample, observer, log })
  }
  steps.sort((a, b) => a.at - b.at)
  let next = 0
  return {
    pods: [...pods.values()].sort(comparePods),
    columns,
    from: steps[0]?.at ?? 0,
    to: steps.at(-1)?.at ?? 0,
    interval: medianInterval(logs),
    undescribed: [...metrics].filter((metric) => !known.has(metric)),
    advance: (to) => {
      const touched = new Set<Observer>()
      for (let step = steps[next]; step !== undefined && step.at <= to; step = steps[next]) {
        next += 1
        show(step, known)
        touched.add(step.observer)
      }
      for (const observer of touched) finish(observer)
    },
  }
}

/** Adds the descriptions that the logs have of metrics that are not in the catalog. */
function withOwn(descriptions: Descriptions, logs: readonly RecordedLog[]): Descriptions {
  const own = logs.flatMap(({ entry }) => {
    return entry?.rows && entry.metric !== null ? [[entry.metric, entry.rows] as const] : []
  })
  return new Map([...own, ...descriptions])
}

function observerOf(
  pods: Map<string, RecordedPod>,
  { place }: RecordedLog,
  description: RowsDescription,
  columns: readonly TopColumn[],
): Observer {
  const { namespace, pod, node, pod_index, source } = place
  const own = { namespace: namespace ?? '', pod: pod ?? source ?? '' }
  const key = `${own.namespace}/${own.pod}`
  const livePod: RecordedPod = pods.get(key) ?? { ...own, node, pod_index, observers: [] }
  pods.set(key, livePod)
  const known = livePod.observers.find(({ metric }) => metric === place.metric)
  if (known !== undefined) return known
  const observer = newObserver({ ...place, ...own }, description, columns)
  livePod.observers.push(observer)
  return observer
}

function newObserver(
  place: RowOrigin & Pick<LivePod, 'namespace' | 'pod'>,
  description: RowsDescription,
  columns: readonly TopColumn[],
): Observer {
  const metric = place.metric ?? ''
  const takers = startTakers(place, description)
  return {
    metric,
    isShown: columns.flatMap(sourcesOf).some((one) => one.metric === metric),
    ...takers,
    log: startLiveLog(description, takers.live, takers.evidence),
    hasStarted: true,
    isRead: true,
    isOver: false,
    seenAt: undefined,
    clockAhead: 0,
    current: undefined,
    left: 0,
  }
}

/** Shows a row. Rows of threads are left out; the row of a process contains their sums. */
function show({ at, sample, observer, log }: Step, descriptions: Descriptions): void {
  observer.left -= 1
  if (observer.current !== undefined && observer.current !== log) observer.log.restart()
  observer.current = log
  const section = findSection(sample, descriptions.get(observer.metric))
  if (section?.of === sample.kind)
    observer.log.pushRow({ section, at, cells: sample, interval: sample.interval })
}

/** Shows the last timepoint. After the last row, the status of the pod counts. */
function finish(observer: Observer): void {
  observer.log.settle()
  if (observer.left > 0) return
  observer.log.end()
  observer.isOver = true
  observer.evidence?.notePod(podOf(observer.current?.entry))
}

function podOf(entry: LogEntry | undefined): Pick<LogEntry, 'ended' | 'podLimits'> {
  return { ended: entry?.ended ?? null, podLimits: entry?.podLimits ?? null }
}

/** The number of rows at the beginning of each log whose times are compared. */
const COMPARED = 200

function medianInterval(logs: readonly RecordedLog[]): number | undefined {
  const gaps = logs.flatMap(({ rows }) => {
    const times = rows.slice(0, COMPARED).map(({ at }) => at)
    return times.flatMap((at, index) => {
      const gap = at - (times[index - 1] ?? at)
      return gap > 0 ? gap : []
    })
  })
  return median(gaps) ?? undefined
}

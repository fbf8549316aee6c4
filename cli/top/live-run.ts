import type { PodOfObservers, RunningObserver } from '../../src/runs/collect/observers.ts'
import type { Descriptions } from '../../src/runs/log/descriptions.ts'
import { chooseColumns, neededRows, sourcesOf, type TopColumn } from '../../src/runs/top/columns.ts'
import { isExamined } from '../../src/runs/top/findings/log-evidence.ts'
import { comparePods, type LivePod } from '../../src/runs/top/pods.ts'
import { type LogStream, newStream } from './log-streams.ts'

/** The observed pods of a run, and the streams of the logs that the table needs. */
export interface LiveRun {
  /** Takes the current pods. Pods that are gone keep their last values. */
  readonly take: (pods: readonly PodOfObservers[]) => void
  /** The pods in the order of their labels. */
  readonly pods: () => readonly LivePod[]
  readonly streams: () => readonly LogStream[]
  /** The columns of the table, which depend on the metrics that are observed. */
  readonly columns: () => readonly TopColumn[]
  /** The observed metrics whose rows are not described. */
  readonly undescribed: () => readonly string[]
  /** The number of current pods without an observer. */
  readonly unobserved: () => number
}

interface GrowingPod extends LivePod {
  node: string | null
  readonly observers: LogStream[]
}

interface RunState {
  readonly descriptions: Descriptions
  /** The descriptions with only the columns that can be in the table. */
  readonly needed: Descriptions
  readonly names: readonly string[]
  /** The metrics whose rows the rules for findings read. */
  readonly examined: readonly string[]
  /** The pods by the uid of the pod, and the streams by the uid and the name of the container. */
  readonly pods: Map<string, GrowingPod>
  readonly streams: Map<string, LogStream>
  readonly metrics: Set<string>
  sorted: readonly LivePod[]
  columns: readonly TopColumn[]
  unobserved: number
}

/** @param names the names of columns that the user requests */
export function startLiveRun(descriptions: Descriptions, names: readonly string[]): LiveRun {
  const state: RunState = {
    descriptions,
    needed: new Map(
      [...descriptions].map(([metric, rows]) => [metric, neededRows(metric, rows, names)]),
    ),
    names,
    examined: [...descriptions].flatMap((one) => (isExamined(...one) ? one[0] : [])),
    pods: new Map(),
    streams: new Map(),
    metrics: new Set(),
    sorted: [],
    columns: [],
    unobserved: 0,
  }
  return {
    take: (pods) => takePods(state, pods),
    pods: () => state.sorted,
    streams: () => [...state.streams.values()],
    columns: () => state.columns,
    undescribed: () => [...state.metrics].filter((metric) => !descriptions.has(metric)),
    unobserved: () => state.unobserved,
  }
}

function takePods(state: RunState, pods: readonly PodOfObservers[]): void {
  const observers = pods.flatMap((pod) =>
    pod.observers.map((one): RunningObserver => (pod.isOver ? { ...one, state: 'ended' } : one)),
  )
  state.unobserved = pods.filter((pod) => pod.observers.length === 0).length
  noteMetrics(state, observers)
  const shown = state.columns.flatMap(sourcesOf).map(({ metric }) => metric)
  const needed = new Set([...shown, ...state.examined])
  for (const observer of observers)
    if (needed.has(observer.container)) takeOne(state, observer, observers.length)
  if (state.sorted.length < state.pods.size)
    state.sorted = [...state.pods.values()].sort(comparePods)
  const present = new Set(observers.map(keyOf))
  for (const [key, stream] of state.streams) {
    stream.isGone = !present.has(key)
    stream.isOver ||= stream.isGone
  }
}

function noteMetrics(state: RunState, observers: readonly RunningObserver[]): void {
  const before = state.metrics.size
  for (const { container } of observers) state.metrics.add(container)
  if (state.metrics.size === before) return
  state.columns = chooseColumns(state.descriptions, state.metrics, state.names)
}

/** @param logs the number of logs of the run */
function takeOne(state: RunState, observer: RunningObserver, logs: number): void {
  const description = state.needed.get(observer.container)
  if (description === undefined) return
  const { uid, namespace, pod, node, pod_index } = observer
  const livePod = state.pods.get(uid) ?? { namespace, pod, node, pod_index, observers: [] }
  state.pods.set(uid, livePod)
  // A pod has no node until it is scheduled.
  livePod.node = node
  const known = state.streams.get(keyOf(observer))
  if (known !== undefined) {
    known.observer = observer
    known.evidence?.notePod(observer)
    known.hasStarted = observer.state !== 'waiting'
    return
  }
  const sources = state.columns.flatMap(sourcesOf)
  const shown = sources.filter(({ metric }) => metric === observer.container)
  const sections = new Set(shown.map(({ section }) => section))
  const stream = newStream(observer, description, { sections, logs })
  state.streams.set(keyOf(observer), stream)
  livePod.observers.push(stream)
}

function keyOf({ uid, container }: RunningObserver): string {
  return `${uid} ${container}`
}

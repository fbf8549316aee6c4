import { asObjects, type Fields, fieldsOrNone } from '../../core/kubernetes/json.ts'
import { durationText } from '../../lib/duration.ts'
import type { RunningObserver } from '../collect/observers.ts'
import { METRICS } from '../metrics/index.ts'
import type { RunMetric } from '../metrics/metric.ts'
import type { ContainerFacts } from './container-facts.ts'
import { readSummaryMessage, type SummaryMessage, WITH_USE } from './summary-message.ts'

/** The message of an observer: its summary, or why there is none. */
export interface ObserverMessage {
  readonly metric: string
  readonly summary?: SummaryMessage
  /** Why there is no summary: the end of a sentence about the observer. */
  readonly problem?: string
}

/** The metrics whose summaries have no use of containers. */
const WITHOUT_USE = METRICS.flatMap(({ name, measuresContainers = false }: RunMetric) =>
  measuresContainers ? [] : name,
)

/** Reads the messages of the observers of a pod that measure containers. */
export function readMessages(
  status: Fields,
  observers: readonly RunningObserver[],
): readonly ObserverMessage[] {
  const read = ({ container, message, state }: RunningObserver): ObserverMessage => {
    if (message === null) return { metric: container, problem: whyNone(status, container, state) }
    const found = readSummaryMessage(message)
    return 'problem' in found
      ? { metric: container, problem: `the message of observer ${container} ${found.problem}` }
      : { metric: found.metric, summary: found }
  }
  return observers.filter(({ container }) => !WITHOUT_USE.includes(container)).map(read)
}

/** Returns why an observer has no message. */
function whyNone(status: Fields, container: string, state: RunningObserver['state']): string {
  if (state === 'running') return `observer ${container} is still running`
  if (state === 'waiting') return `observer ${container} has not started`
  const statuses = [status.initContainerStatuses, status.containerStatuses].flatMap(asObjects)
  const found = statuses.find(({ name }) => name === container)
  const { exitCode } = fieldsOrNone(fieldsOrNone(found?.state).terminated)
  const code = typeof exitCode === 'number' ? ` (exit code ${exitCode})` : ''
  return `observer ${container} ended without a message${code}: it was killed`
}

/** The parts of its life that a container may be observed less: for the start, and rounding. */
const SLACK_SECONDS = 3
const SLACK_PART = 0.05

/** Returns why the use of containers, or a part of it, is not known. */
export function listMissing(
  pod: string,
  messages: readonly ObserverMessage[],
  containers: readonly ContainerFacts[],
): readonly string[] {
  if (messages.length === 0)
    return [`${pod}: none of its observers measures containers (${WITH_USE.join(', ')})`]
  const unread = messages.flatMap(({ problem }) => problem ?? [])
  const known = containers.filter(({ use }) => use !== null)
  // The summary of one observer is enough.
  if (known.length === 0 && unread.length > 0) return unread.map((problem) => `${pod}: ${problem}`)
  if (known.length === 0) return [`${pod}: ${whyNoContainer(messages)}`]
  const leftOut = messages.some(({ summary }) => (summary?.leftOut ?? 0) > 0)
  return [
    ...(leftOut ? [`${pod}: the summary has no room for all of its containers`] : []),
    ...known.flatMap((container) => describePart(container)).map((part) => `${pod}: ${part}`),
  ]
}

function whyNoContainer(messages: readonly ObserverMessage[]): string {
  const isEmpty = messages.every(({ summary }) => summary?.processes === 0)
  return isEmpty
    ? 'the observer found no process: the container had ended before its first scan, or not started'
    : 'the observer could read no cgroup of a container'
}

/** Returns in which respect the use of a container is not whole. */
function describePart({ name, use, lifetime }: ContainerFacts): readonly string[] {
  if (use === null) return []
  if (!use.isFinal) {
    const after =
      use.seconds === null ? 'only at samples' : `last after ${durationText(use.seconds)}`
    return [`container ${name} was read ${after}, and not at its end`]
  }
  const least = (lifetime ?? 0) * (1 - SLACK_PART) - SLACK_SECONDS
  if (use.seconds === null || use.seconds >= least) return []
  const [observed, all] = [use.seconds, lifetime ?? 0].map(durationText)
  return [`container ${name} was observed for only ${observed} of ${all}`]
}

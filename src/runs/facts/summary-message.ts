import { asText, parseFields } from '../../core/kubernetes/json.ts'
import { type ContainerUse, readContainerUses, readNumber } from '../log/container-use.ts'
import { METRICS } from '../metrics/index.ts'
import type { RunMetric } from '../metrics/metric.ts'

/** The summary of an observer, as far as the card of a run needs it. */
export interface SummaryMessage {
  readonly metric: string
  /** The use of the observed containers by name. */
  readonly containers: ReadonlyMap<string, ContainerUse>
  /** The number of processes that were observed. */
  readonly processes: number
  /** The containers that had no room in the summary. */
  readonly leftOut: number
}

/** Why a message cannot be read: the end of a sentence about the message. */
export interface MessageProblem {
  readonly problem: string
}

export const CUT =
  'is cut: the kubelet shortens the messages of a pod to 12 KiB, divided by the number of its ' +
  'containers'
const FOREIGN = 'is not the summary of an observer'

/** A message has at most 4 KiB (kubernetes MaxContainerTerminationMessageLength). */
const MAX_LENGTH = 4096

/**
 * Reads the summary of an observer in the termination message of its container. The application can
 * stop the observer, and a pod's author can run any other program under its name, so that a message
 * may contain anything.
 */
export function readSummaryMessage(message: string): SummaryMessage | MessageProblem {
  const lines = message.slice(0, MAX_LENGTH).split('\n')
  // A line without a line feed is cut.
  const [first] = lines.slice(0, -1).map((line) => parseFields(line) ?? {})
  if (first === undefined && message.startsWith('{"metric":')) return { problem: CUT }
  const metric = asText(first?.metric)
  if (first === undefined || metric === undefined) return { problem: FOREIGN }
  const leftOut = readNumber(first.containers_left_out) ?? 0
  const containers = readContainerUses(first)
  return { metric, containers, leftOut, processes: readNumber(first.processes) ?? 0 }
}

/** The metrics with the use of containers, the most complete first. */
export const WITH_USE: readonly string[] = METRICS.toReversed().flatMap(
  ({ name, measuresContainers = false }: RunMetric) => (measuresContainers ? name : []),
)

/**
 * Joins what several observers of a pod know of its containers. Each value is that of the first
 * observer that has it: of those that read it at the end, and then in the order of `WITH_USE`.
 */
export function joinSummaries(
  summaries: readonly SummaryMessage[],
): ReadonlyMap<string, ContainerUse> {
  const rank = ({ metric }: SummaryMessage) =>
    (WITH_USE.indexOf(metric) + WITH_USE.length) % (WITH_USE.length + 1)
  const sorted = summaries.toSorted((a, b) => rank(a) - rank(b))
  const all = sorted.flatMap(({ containers }) => [...containers])
  const byName = Map.groupBy(all, ([name]) => name)
  return new Map([...byName].map(([name, uses]) => [name, joinUses(uses.map(([, use]) => use))]))
}

function joinUses(uses: readonly ContainerUse[]): ContainerUse {
  const sorted = uses.toSorted((a, b) => Number(b.isFinal) - Number(a.isFinal))
  const first = (read: (use: ContainerUse) => number | null) =>
    sorted.map(read).find((value) => value !== null) ?? null
  return {
    seconds: first((use) => use.seconds),
    cpu: first((use) => use.cpu),
    cpuLimit: first((use) => use.cpuLimit),
    periods: first((use) => use.periods),
    throttledPeriods: first((use) => use.throttledPeriods),
    throttled: first((use) => use.throttled),
    runDelay: first((use) => use.runDelay),
    storage: first((use) => use.storage),
    memoryPeak: first((use) => use.memoryPeak),
    memoryLimit: first((use) => use.memoryLimit),
    oomKills: first((use) => use.oomKills),
    isFinal: sorted.some(({ isFinal }) => isFinal),
  }
}

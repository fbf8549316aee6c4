import { asObjects, asText, type Fields, parseFields } from '../../core/kubernetes/json.ts'
import { METRICS } from '../metrics/index.ts'
import type { RunMetric } from '../metrics/metric.ts'

/** The use of a container as its cgroups account it. A value that was not read is null. */
export interface ContainerUse {
  /** The seconds from the start of its first process to the last reading. */
  readonly seconds: number | null
  /** CPU seconds. */
  readonly cpu: number | null
  /** The limit of processors; null also if there is none. */
  readonly cpuLimit: number | null
  readonly periods: number | null
  readonly throttledPeriods: number | null
  /** The seconds for which it was throttled, summed over processors. */
  readonly throttled: number | null
  /** The seconds for which its processes waited for a processor, summed over threads. */
  readonly runDelay: number | null
  /** The seconds in which all of its tasks waited for storage. */
  readonly storage: number | null
  /** The peak of its memory in bytes, with the cache of files. */
  readonly memoryPeak: number | null
  /** The limit in bytes; null also if there is none. */
  readonly memoryLimit: number | null
  /** The number of processes that the kernel killed because memory ran out. */
  readonly oomKills: number | null
  /** Whether the values were read at the end of the container, and not only before it. */
  readonly isFinal: boolean
}

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
const MAX_CONTAINERS = 64

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
  const containers = readContainers(asObjects(first.containers))
  return { metric, containers, leftOut, processes: readNumber(first.processes) ?? 0 }
}

function readContainers(rows: readonly Fields[]): ReadonlyMap<string, ContainerUse> {
  const named = rows.slice(0, MAX_CONTAINERS).flatMap((row) => {
    const name = asText(row.container)
    return name === undefined ? [] : [[name, readUse(row)] as const]
  })
  return new Map(named)
}

function readUse(row: Fields): ContainerUse {
  return {
    seconds: readNumber(row.seconds),
    cpu: readNumber(row.cpu_usage),
    cpuLimit: readNumber(row.cpu_limit),
    periods: readNumber(row.nr_periods),
    throttledPeriods: readNumber(row.nr_throttled),
    throttled: readNumber(row.throttled),
    runDelay: readNumber(row.run_delay),
    storage: readNumber(row.io_full),
    memoryPeak: readNumber(row.memory_peak),
    memoryLimit: readNumber(row.memory_limit),
    oomKills: readNumber(row.oom_kill),
    isFinal: row.final === true,
  }
}

/** More than any counter of a machine, in any unit of the summary. */
const MAX_NUMBER = 1e18

function readNumber(value: unknown): number | null {
  const isPossible = typeof value === 'number' && value >= 0 && value < MAX_NUMBER
  return isPossible ? value : null
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

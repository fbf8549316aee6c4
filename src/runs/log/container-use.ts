import { asObjects, asText, type Fields } from '../../core/kubernetes/json.ts'

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

const MAX_CONTAINERS = 64

/** Reads the use of containers by name, from the line of a summary about the whole run. */
export function readContainerUses(line: Fields): ReadonlyMap<string, ContainerUse> {
  const rows = asObjects(line.containers).slice(0, MAX_CONTAINERS)
  const named = rows.flatMap((row) => {
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

/** Returns a number of a summary; null if it is missing or not possible. */
export function readNumber(value: unknown): number | null {
  const isPossible = typeof value === 'number' && value >= 0 && value < MAX_NUMBER
  return isPossible ? value : null
}

import { need, plot, type SectionColumns, type ThingOf } from '../evidence/evidence.ts'
import {
  growthOf,
  lastOf,
  nameOf,
  type PodEvidence,
  type RunEvidence,
  sumOf,
} from '../evidence/run-evidence.ts'
import { CONTAINERS, PLACEMENTS, PROCESS_COUNTERS } from '../metrics/usual-sections.ts'
import { perPod } from '../rules/per-pod.ts'
import {
  defineRule,
  EXPLAINS_IDLE,
  type FactUnits,
  type FoundPods,
  listFacts,
  type PodFinding,
} from '../rules/rule.ts'
import { factIn, thingsOf, WAITED_FACTS, waitedText } from '../rules/sentence.ts'
import { MIN_SECONDS, percentOf } from '../rules/time-lost.ts'
import { STORAGE_READS, storageWait } from './devices/storage-rule.ts'

const CONTAINER = {
  ...CONTAINERS,
  columns: [
    'oom_kill',
    'oom',
    'memory_limit',
    'memory_peak',
    'memory_max',
    'unlimited',
    'memory_some',
    'memory_full',
    'memory_anon',
    'memory_current',
  ],
} as const satisfies SectionColumns
const PROCESS = {
  ...PROCESS_COUNTERS,
  columns: ['majflt'],
} as const satisfies SectionColumns
const PLACEMENT = {
  ...PLACEMENTS,
  columns: ['swap_pss', 'pss'],
} as const satisfies SectionColumns

const ENDED = 'containers ended with the reason OOMKilled'

const LIMIT_FACTS = { 'memory limit': 'bytes', 'peak use': 'bytes' } as const satisfies FactUnits

const KILLED_FACTS = {
  'processes killed': 'count',
  [ENDED]: 'count',
  ...LIMIT_FACTS,
} as const satisfies FactUnits

/** The causes, as the sentence names them. */
const AT_LIMIT = 'the container reached its memory limit'
const NODE = 'the node or the whole pod ran out of memory, and not the container by itself'

/**
 * Processes that the kernel killed because memory ran out. Since Kubernetes 1.28, on nodes with
 * cgroup version 2, the kubelet sets memory.oom.group: the kernel then kills all processes of the
 * container at once, before another sample is taken. Only the status of the pod shows this.
 *
 * One killed process is enough. `oom_kill` counts the kills by any OOM killer, also by that of the
 * node, and `oom` counts how often the limit was the reason (kernel,
 * Documentation/admin-guide/cgroup-v2.rst, memory.events).
 */
export const OOM_KILLED = defineRule({
  name: 'oom-killed',
  title: 'Killed because memory ran out',
  severity: 'failure',
  area: 'memory',
  needs: [[{ ...need(CONTAINER, 'oom_kill'), isTotal: true }]],
  threshold: {
    value: 1,
    unit: 'count',
    condition:
      'the kernel killed a process of the container because memory ran out, or the container ' +
      'ended with the reason OOMKilled',
    source:
      "the kernel's memory.events, oom_kill (Documentation/admin-guide/cgroup-v2.rst), and the " +
      'status of the pod',
  },
  canFind: ({ ended }) => ended !== null,
  find: perPod(findAllKilled),
  uncheckedIn: podsWithoutStatus,
  sentence: (worst) => {
    const why = worst.cause === undefined ? 'memory ran out' : worst.cause
    const isWhole = worst.facts[0]?.name === ENDED
    const who = isWhole
      ? thingsOf(worst)
      : `${factIn(worst, 'processes killed')} of its processes in ${thingsOf(worst)}`
    return `had ${who} killed by the kernel, because ${why}`
  },
  facts: KILLED_FACTS,
  reads: [CONTAINER],
  isHindrance: true,
  explains: [
    {
      rules: ['swapping', 'memory-growing', 'close-to-memory-limit'],
      of: 'same pod',
      because: 'before the kernel kills a process, the kernel frees as much memory as possible',
    },
  ],
  advice:
    'If the container reached its memory limit, raise it (resources.limits.memory), or use more ' +
    'pods with less data each. If the node ran out of memory, request the memory that the pods ' +
    'use (resources.requests.memory).',
  adviceByCause: {
    [AT_LIMIT]:
      'Raise the memory limit (resources.limits.memory), or use more pods with less data each.',
    [NODE]:
      'Request the memory that the pods use (resources.requests.memory), so that the scheduler ' +
      'places fewer pods on the node.',
  },
  plots: [plot(CONTAINER, 'oom_kill'), plot(CONTAINER, 'memory_current')],
})

const STATUS_UNKNOWN =
  'the container may have ended after the last sample, and only the output of collect says how ' +
  'it ended'

type KillFinding = PodFinding<keyof typeof KILLED_FACTS>

type Container = ThingOf<typeof CONTAINER>

function podsWithoutStatus({ pods }: RunEvidence, found: FoundPods): ReadonlyMap<string, string> {
  const killed = found.get(OOM_KILLED)
  const unknown = pods.filter(({ pod, ended }) => ended === null && killed?.has(pod) !== true)
  return new Map(unknown.map(({ pod }) => [pod, STATUS_UNKNOWN]))
}

function findAllKilled(pod: PodEvidence): readonly (KillFinding | undefined)[] {
  const things = pod.things(CONTAINER)
  const inRows = things.map(findKilled)
  const seen = new Set(inRows.flatMap((one) => one?.things ?? []))
  const ended = (pod.ended ?? []).filter(({ reason }) => reason === 'OOMKilled')
  const byContainer = Map.groupBy(things, (one) => one.container)
  const byStatus = ended.flatMap(({ container }) => {
    const thing = byContainer.get(container)?.[0]
    const name = `container ${container}`
    return seen.has(name) ? [] : [findEnded(name, thing)]
  })
  return [...inRows, ...byStatus]
}

function findKilled(thing: Container): KillFinding | undefined {
  const killed = thing.readings.get('oom_kill')?.most ?? 0
  if (killed < OOM_KILLED.threshold.value) return undefined
  return {
    things: [nameOf(thing)],
    lost: null,
    ...causeOf(thing),
    facts: listFacts(KILLED_FACTS, { 'processes killed': killed, ...limitsOf(thing) }),
  }
}

/** @param thing the rows of the container, which may have ended after the last row */
function findEnded(name: string, thing: Container | undefined): KillFinding {
  const hasNoLimit = thing !== undefined && isUnlimited(thing)
  return {
    things: [name],
    lost: null,
    ...(hasNoLimit ? { cause: NODE } : {}),
    facts: listFacts(KILLED_FACTS, { [ENDED]: 1, ...(thing && limitsOf(thing)) }),
  }
}

/** Returns why the memory ran out; nothing if the rows of the container do not show it. */
function causeOf(thing: Container): Pick<PodFinding, 'cause'> {
  if (isUnlimited(thing)) return { cause: NODE }
  // Nodes with cgroup version 1 count only how often the limit was reached.
  const reached = lastOf(thing, 'oom') ?? lastOf(thing, 'memory_max')
  if (reached === null) return {}
  return { cause: reached > 0 ? AT_LIMIT : NODE }
}

function isUnlimited({ readings }: Container): boolean {
  return readings.get('unlimited')?.text?.split(',').includes('memory') === true
}

function limitsOf(thing: Container) {
  return {
    'memory limit': lastOf(thing, 'memory_limit'),
    'peak use': lastOf(thing, 'memory_peak'),
  } satisfies Record<keyof typeof LIMIT_FACTS, number | null>
}

const PRESSURE_FACTS = {
  ...WAITED_FACTS,
  'a process waited': 's',
  'all processes waited': 's',
  'times at the limit': 'count',
} as const satisfies FactUnits

/**
 * The time in which a process of the container waited for memory: for reclaim, for swap space, or
 * for pages of files that had been evicted. The time lost is only the time in which all processes
 * waited at once; at other times, some processes may have computed.
 *
 * The threshold is the kernel's own example of a trigger for memory: 150 ms of every second
 * (Documentation/accounting/psi.rst, "Monitoring for pressure thresholds").
 */
export const MEMORY_PRESSURE = defineRule({
  name: 'memory-pressure',
  title: 'Memory pressure',
  severity: 'slowdown',
  area: 'memory',
  needs: [[need(CONTAINER, 'memory_some')]],
  threshold: {
    value: 15,
    unit: 'percent',
    condition: 'a process of the container waited for memory for at least 15 % of the run',
    source:
      "the kernel's example of a trigger, 150 ms in a second (Documentation/accounting/psi.rst)",
  },
  find: perPod((pod) => pod.things(CONTAINER).map(findPressure)),
  sentence: (worst) =>
    `had a process waiting for memory for ${waitedText(worst)}: ` +
    `${thingsOf(worst)} had too little, and the kernel had to free some first`,
  facts: PRESSURE_FACTS,
  reads: [CONTAINER],
  isHindrance: true,
  explains: [
    {
      rules: ['swapping', 'close-to-memory-limit', 'waiting-for-storage'],
      of: 'same pod',
      because: 'memory that the kernel freed is read again from storage',
    },
    EXPLAINS_IDLE,
  ],
  advice:
    'Raise the memory limit of the container (resources.limits.memory). If it has none, the node ' +
    'is short of memory: request the memory that the pods use (resources.requests.memory).',
  plots: [plot(CONTAINER, 'memory_some')],
})

function findPressure(thing: Container): PodFinding<keyof typeof PRESSURE_FACTS> | undefined {
  const waited = growthOf(thing, 'memory_some') ?? 0
  const sampled = thing.readings.get('memory_some')?.seconds ?? 0
  const part = percentOf(waited, sampled)
  if (part < MEMORY_PRESSURE.threshold.value || waited < MIN_SECONDS) return undefined
  const full = growthOf(thing, 'memory_full')
  return {
    things: [nameOf(thing)],
    lost: full !== null && full >= MIN_SECONDS ? full : null,
    size: waited,
    facts: listFacts(PRESSURE_FACTS, {
      'time waiting': part,
      'time in the samples': sampled,
      'a process waited': waited,
      'all processes waited': full,
      'times at the limit': growthOf(thing, 'memory_max'),
    }),
  }
}

const FAULT_FACTS = {
  'major page faults': '1/s',
  'major page faults in total': 'count',
  'memory in swap space': 'bytes',
} as const satisfies FactUnits

/**
 * Major page faults: accesses to memory that had to be read from storage, for example from swap
 * space. Page faults before the first sample of a process are not counted, because every program is
 * read from storage when it starts.
 *
 * The threshold is Ridealong's own: 100 reads a second take 1 % of the time if each takes 0.1 ms,
 * as on a local solid-state disk, and all of the time if each takes 10 ms, as on a hard disk.
 */
export const SWAPPING = defineRule({
  name: 'swapping',
  title: 'Swapping or major page faults',
  severity: 'slowdown',
  area: 'memory',
  needs: [[need(PROCESS, 'majflt')]],
  threshold: {
    value: 100,
    unit: '1/s',
    condition: 'the processes of a pod had at least 100 major page faults a second on average',
    source: 'Ridealong: 100 reads a second take 1 to 100 % of the time, if each takes 0.1 to 10 ms',
  },
  find: perPod((pod) => [findFaults(pod)]),
  sentence: (worst) =>
    `had major page faults at a rate of ${factIn(worst, 'major page faults')}: it read memory ` +
    'from storage, for example from swap space or from files that no longer fit into memory: ' +
    `${thingsOf(worst)}`,
  facts: FAULT_FACTS,
  reads: [PROCESS, PLACEMENT, ...STORAGE_READS],
  isHindrance: true,
  explains: [
    {
      rules: ['waiting-for-storage'],
      of: 'same pod',
      because: 'major page faults are reads from storage',
    },
    EXPLAINS_IDLE,
  ],
  advice:
    'Give the pods more memory (resources.limits.memory and requests), or turn swap off for ' +
    "them on the node (the kubelet's memorySwap.swapBehavior: NoSwap).",
  plots: [plot(PROCESS, 'majflt')],
})

function findFaults(pod: PodEvidence): PodFinding<keyof typeof FAULT_FACTS> | undefined {
  const faulting = pod
    .things(PROCESS)
    .map((thing) => ({ thing, faults: faultsOf(thing) }))
    .filter(({ faults }) => faults > 0)
    .sort((a, b) => b.faults - a.faults)
  const faults = faulting.reduce((sum, one) => sum + one.faults, 0)
  const rate = pod.elapsed > 0 ? faults / pod.elapsed : 0
  if (rate < SWAPPING.threshold.value || pod.elapsed < MIN_SECONDS) return undefined
  const waited = storageWait(pod)?.lost ?? 0
  const swapped = sumOf(pod.things(PLACEMENT).map((thing) => lastOf(thing, 'swap_pss')))
  return {
    things: faulting.slice(0, 3).map(({ thing }) => nameOf(thing)),
    lost: waited >= MIN_SECONDS ? waited : null,
    facts: listFacts(FAULT_FACTS, {
      'major page faults': rate,
      'major page faults in total': faults,
      'memory in swap space': swapped === null ? null : swapped * 1024,
    }),
  }
}

/** Returns the number of major page faults after the first sample of a process. */
function faultsOf(thing: ThingOf<typeof PROCESS>): number {
  const faults = thing.readings.get('majflt')
  return Math.max((faults?.growth ?? 0) - (faults?.early ?? 0), 0)
}

const CLOSE_FACTS = {
  'part of the limit': 'percent',
  'memory that cannot be freed': 'bytes',
  ...LIMIT_FACTS,
  'times at the limit': 'count',
} as const satisfies FactUnits

/**
 * Memory that the kernel cannot free, compared with the limit of its container. The memory in use
 * is not compared: a container that reads and writes files can be at its limit without any problem,
 * because the kernel frees pages of files when memory is needed.
 *
 * The threshold is that of common alerts, for example ContainerMemoryUsage of Prometheus rule
 * collections: 80 to 95 %.
 */
export const CLOSE_TO_LIMIT = defineRule({
  name: 'close-to-memory-limit',
  title: 'Close to the memory limit',
  severity: 'risk',
  area: 'memory',
  needs: [[need(CONTAINER, 'memory_anon', 'unlimited')]],
  threshold: {
    value: 90,
    unit: 'percent',
    condition:
      'memory that the kernel can only free by swapping reached at least 90 % of the memory ' +
      'limit of the container',
    source:
      'common alerts on the memory of containers, which use 80 to 95 %; the number: Ridealong',
  },
  find: perPod((pod) => pod.things(CONTAINER).map(findClose)),
  sentence: (worst) =>
    `used ${factIn(worst, 'part of the limit')} of the memory limit of ${thingsOf(worst)} ` +
    'for memory that the kernel cannot free, except by swapping',
  facts: CLOSE_FACTS,
  reads: [CONTAINER],
  advice:
    'Raise the memory limit of the container (resources.limits.memory), or use more pods with ' +
    'less data each.',
  plots: [plot(CONTAINER, 'memory_anon'), plot(CONTAINER, 'memory_current')],
})

function findClose(container: Container): PodFinding<keyof typeof CLOSE_FACTS> | undefined {
  const limit = lastOf(container, 'memory_limit')
  const unfreeable = container.readings.get('memory_anon')?.most ?? null
  if (limit === null || unfreeable === null) return undefined
  const part = percentOf(unfreeable, limit)
  if (part < CLOSE_TO_LIMIT.threshold.value) return undefined
  return {
    things: [nameOf(container)],
    lost: null,
    facts: listFacts(CLOSE_FACTS, {
      'part of the limit': part,
      'memory that cannot be freed': unfreeable,
      ...limitsOf(container),
      'times at the limit': growthOf(container, 'memory_max'),
    }),
  }
}

import { need, plot, type SectionColumns, type ThingOf } from '../evidence/evidence.ts'
import { growthOf, lastOf, nameOf, type RunEvidence } from '../evidence/run-evidence.ts'
import { PLACEMENTS } from '../metrics/usual-sections.ts'
import { perPod } from '../rules/per-pod.ts'
import {
  type Affected,
  defineRule,
  EXPLAINS_IDLE,
  type FactUnits,
  listFacts,
  type PodFinding,
} from '../rules/rule.ts'
import { factIn, thingsOf, WAITED_FACTS, waitedText } from '../rules/sentence.ts'
import { MIN_SECONDS, percentOf, timeLost } from '../rules/time-lost.ts'
import { ALLOWED, type Placed, placedIn, RUNNING_COUNTERS, timesOf } from './placed-process.ts'

const PLACEMENT = {
  ...PLACEMENTS,
  columns: ['numa', 'numa_remote'],
} as const satisfies SectionColumns

const PINNED_FACTS = {
  ...WAITED_FACTS,
  'processors allowed': 'cores',
  'processes on these processors': 'count',
  'waiting, summed over threads': 's',
  'CPU time in the samples': 's',
} as const satisfies FactUnits

/**
 * Processes that may only run on the same processors, if there are more processes than processors.
 *
 * Only the time in which these processes kept each other from running counts: at most the CPU time
 * of the others. The threshold is the same as in the rule `waiting-for-cpu`.
 */
export const PINNED = defineRule({
  name: 'pinned-to-same-core',
  title: 'Pinned to the same core',
  severity: 'slowdown',
  area: 'processors',
  needs: [
    [
      need(ALLOWED, 'cpus_allowed', 'cpus_allowed_count'),
      need(RUNNING_COUNTERS, 'run_delay', 'cpu_time'),
    ],
  ],
  threshold: {
    value: 10,
    unit: 'percent',
    condition:
      'processes that may only run on the same processors waited for each other for at least ' +
      '10 % of the run',
    source:
      'the measure: the USE method of Brendan Gregg, saturation of CPUs, /proc/PID/schedstat; ' +
      'the number: Ridealong',
  },
  find: findPinned,
  sentence: (worst) =>
    `waited for ${waitedText(worst)} for a processor that it shares: ` +
    `${thingsOf(worst)} may only run on the same ${factIn(worst, 'processors allowed')}`,
  facts: PINNED_FACTS,
  reads: [ALLOWED, RUNNING_COUNTERS],
  isHindrance: true,
  explains: [
    {
      rules: ['waiting-for-cpu', 'more-work'],
      of: 'same pod',
      because: 'the processes wait for each other, while other processors may be free',
    },
    EXPLAINS_IDLE,
  ],
  advice:
    'Bind each process to a processor of its own. MPI launchers in several pods of a node do not ' +
    'know of each other: turn their binding off (mpirun --bind-to none), or let Kubernetes ' +
    "assign processors to the pods (the kubelet's static CPU manager policy).",
  plots: [plot(RUNNING_COUNTERS, 'run_delay')],
})

type PinnedPod = Affected<keyof typeof PINNED_FACTS>

function findPinned({ pods }: RunEvidence): readonly PinnedPod[] {
  const byPlace = new Map<string, Placed[]>()
  const widest = new Map<string, number>()
  for (const placed of pods.flatMap(placedIn)) {
    const node = nodeOf(placed)
    const key = `${node}\n${placed.cpus}`
    const own = byPlace.get(key)
    if (own === undefined) byPlace.set(key, [placed])
    else own.push(placed)
    widest.set(node, Math.max(widest.get(node) ?? 0, placed.count))
  }
  return [...byPlace.values()].flatMap((mates) => {
    const [first] = mates
    if (first === undefined || mates.length <= first.count) return []
    // If no process of the node may run on more processors, these may be all of its processors.
    // Several processes on a single processor are always found.
    const isRestricted = first.count === 1 || first.count < (widest.get(nodeOf(first)) ?? 0)
    return isRestricted ? findCrowd(mates) : []
  })
}

/** Returns the node, within which processes are compared; the log if the rows name no node. */
function nodeOf({ pod, process }: Placed): string {
  return pod.node ?? process.source
}

/** Returns the pods of processes that kept each other from running for a tenth of the run. */
function findCrowd(mates: readonly Placed[]): readonly PinnedPod[] {
  const timeDuring = timeOfAll(mates)
  const waiting = mates.flatMap((one) => {
    const delay = growthOf(one.process, 'run_delay') ?? 0
    const ran = growthOf(one.process, 'cpu_time') ?? 0
    const waited = Math.min(delay, Math.max(timeDuring(one) - ran, 0) / one.count)
    const seconds = one.process.readings.get('run_delay')?.seconds ?? 0
    const lost = timeLost(waited, ran, seconds)
    const part = percentOf(lost, one.pod.elapsed)
    const isLong = part >= PINNED.threshold.value && lost >= MIN_SECONDS
    return isLong ? [{ one, lost, part, waited, ran }] : []
  })
  if (waiting.length < 2) return []
  const byPod = Map.groupBy(waiting, ({ one }) => one.pod.pod)
  const things = namesOf(waiting.map(({ one }) => one))
  return [...byPod].map(([pod, own]) => {
    const worst = own.reduce((most, each) => (each.lost > most.lost ? each : most))
    return {
      pod,
      things,
      lost: worst.lost,
      facts: listFacts(PINNED_FACTS, {
        'time waiting': worst.part,
        'time in the samples': worst.one.pod.elapsed,
        'processors allowed': worst.one.count,
        'processes on these processors': waiting.length,
        'waiting, summed over threads': worst.waited,
        'CPU time in the samples': worst.ran,
      }),
    }
  })
}

/**
 * Returns a function that returns the CPU seconds of all processes during the life of one of them.
 * The CPU time of a process is spread evenly over its life. A node can have thousands of processes,
 * so the CPU time of all until each start and end is summed up once.
 */
function timeOfAll(mates: readonly Placed[]): (one: Placed) => number {
  const changes = mates.flatMap(({ process }) => {
    const [from, to] = timesOf(process)
    const rate = to > from ? (growthOf(process, 'cpu_time') ?? 0) / (to - from) : 0
    return [
      { at: from, rate },
      { at: to, rate: -rate },
    ]
  })
  const until = new Map<number, number>()
  let [rate, seconds, last] = [0, 0, 0]
  for (const change of changes.sort((a, b) => a.at - b.at)) {
    seconds += rate * (change.at - last)
    until.set(change.at, seconds)
    rate += change.rate
    last = change.at
  }
  return ({ process }) => {
    const [from, to] = timesOf(process)
    return (until.get(to) ?? 0) - (until.get(from) ?? 0)
  }
}

/** Names the processes, with their pods if they belong to several pods. */
function namesOf(all: readonly Placed[]): readonly string[] {
  const isOne = new Set(all.map(({ pod }) => pod.pod)).size === 1
  return all.map(({ pod, process }) =>
    isOne ? nameOf(process) : `${nameOf(process)} of pod ${pod.pod}`,
  )
}

/** The fewest bytes of remote memory with which a finding is made. */
const MIN_REMOTE = 64 * 1024 * 1024

const REMOTE_FACTS = {
  'remote part': 'percent',
  'remote memory': 'bytes',
  'resident memory': 'bytes',
} as const satisfies FactUnits

/**
 * Memory on NUMA nodes to which none of the allowed processors belongs: each access goes through
 * the memory controller of another NUMA node (kernel,
 * Documentation/admin-guide/mm/numa_memory_policy.rst).
 *
 * The threshold is Ridealong's own. Pages of shared libraries that other processes have loaded on
 * another NUMA node also count as remote; at least 64 MiB are needed because of these pages.
 */
export const REMOTE_MEMORY = defineRule({
  name: 'remote-memory',
  title: 'Memory on a remote NUMA node',
  severity: 'slowdown',
  area: 'memory',
  needs: [[need(PLACEMENT, 'numa', 'numa_remote')]],
  threshold: {
    value: 20,
    unit: 'percent',
    condition:
      'at least 20 % of the resident memory of a process, and at least 64 MiB, are on NUMA nodes ' +
      'to which none of its processors belongs',
    source: "the measure: the kernel's numa_maps; the number: Ridealong",
  },
  find: perPod((pod) => pod.things(PLACEMENT).map(findRemote)),
  sentence: (worst) =>
    `has ${factIn(worst, 'remote part')} of the memory of ${thingsOf(worst)} on NUMA nodes that ` +
    'are not those of its processors',
  facts: REMOTE_FACTS,
  reads: [PLACEMENT],
  advice:
    'Bind processors and memory together (numactl --cpunodebind --membind, or mpirun --map-by ' +
    "numa), or let the kubelet align them (its Topology Manager's policy single-numa-node).",
  plots: [plot(PLACEMENT, 'numa_remote')],
})

function findRemote(
  thing: ThingOf<typeof PLACEMENT>,
): PodFinding<keyof typeof REMOTE_FACTS> | undefined {
  const remote = (lastOf(thing, 'numa_remote') ?? 0) * 1024
  const resident = residentOf(thing.readings.get('numa')?.text ?? '') * 1024
  const part = percentOf(remote, resident)
  if (part < REMOTE_MEMORY.threshold.value || remote < MIN_REMOTE) return undefined
  return {
    things: [nameOf(thing)],
    lost: null,
    facts: listFacts(REMOTE_FACTS, {
      'remote part': part,
      'remote memory': remote,
      'resident memory': resident,
    }),
  }
}

/** Sums the KiB of all NUMA nodes in a text such as `0:1024 1:96`. */
function residentOf(numa: string): number {
  return numa.split(' ').reduce((sum, word) => sum + (Number(word.split(':')[1]) || 0), 0)
}

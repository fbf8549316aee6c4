import { maximum } from '../../../lib/statistics.ts'
import {
  type Need,
  need,
  plot,
  type SectionColumns,
  type Thing,
  type ThingOf,
} from '../../evidence/evidence.ts'
import {
  growthOf,
  nameOf,
  type PodEvidence,
  START,
  secondsSeen,
} from '../../evidence/run-evidence.ts'
import { CONTAINERS, PROCESS_SAMPLES } from '../../metrics/usual-sections.ts'
import { perPod } from '../../rules/per-pod.ts'
import {
  defineRule,
  EXPLAINS_IDLE,
  type FactUnits,
  listFacts,
  type PodFinding,
} from '../../rules/rule.ts'
import { thingsOf, WAITED_FACTS, waitedText } from '../../rules/sentence.ts'
import { MIN_SECONDS, percentOf } from '../../rules/time-lost.ts'
import { longestStalled, podDelay, type StorageTime, stalledAtOnce } from './pod-storage.ts'

const CONTAINER = {
  ...CONTAINERS,
  columns: ['io_full', 'io_some'],
} as const satisfies SectionColumns
const PERF = {
  ...PROCESS_SAMPLES,
  columns: ['iodelay', 'kb_rd_s', 'kb_wr_s'],
} as const satisfies SectionColumns

/**
 * Pressure stall information, or block I/O delay. The first needs cgroup version 2, the second
 * needs delay accounting, a setting of the node.
 */
const STORAGE_NEEDS: readonly (readonly Need[])[] = [
  [need(CONTAINER, 'io_full')],
  [need(PERF, 'iodelay')],
]

/** The columns from which `storageWait` computes. */
export const STORAGE_READS: readonly SectionColumns[] = [CONTAINER, PERF]

/** Clock ticks a second in /proc (USER_HZ), on every architecture that Kubernetes supports. */
const TICKS = 100

/** The name of a fact: the block I/O delay of the processes of a pod. */
const SUMMED_DELAY = 'block I/O delay, summed over processes'

const FACTS = {
  ...WAITED_FACTS,
  'all processes waited': 's',
  'a process waited': 's',
  [SUMMED_DELAY]: 's',
  'read and written': 'bytes',
} as const satisfies FactUnits

/**
 * The time in which all processes of a container waited for storage; without pressure stall
 * information, the block I/O delay of the processes of a pod.
 *
 * The threshold is the kernel's own example of a trigger for I/O: 50 ms of every second
 * (Documentation/accounting/psi.rst, "Monitoring for pressure thresholds").
 */
export const WAITING_FOR_STORAGE = defineRule({
  name: 'waiting-for-storage',
  title: 'Waiting for storage',
  severity: 'slowdown',
  area: 'storage',
  needs: STORAGE_NEEDS,
  threshold: {
    value: 5,
    unit: 'percent',
    condition:
      'all processes of the container, or one process by its block I/O delay, waited for storage ' +
      'for at least 5 % of the run',
    source:
      "the kernel's example of a trigger, 50 ms in a second (Documentation/accounting/psi.rst)",
  },
  find: perPod((pod) => [storageWait(pod)].filter(isLong)),
  sentence: (worst) => `waited for storage for ${waitedText(worst)} (${thingsOf(worst)})`,
  facts: FACTS,
  reads: STORAGE_READS,
  isHindrance: true,
  explains: [EXPLAINS_IDLE],
  advice:
    'Read and write less often and in larger pieces, from fewer processes, or use faster ' +
    'storage: a local disk of the node or a parallel file system. io-sysstat shows how busy the ' +
    'devices of the node are.',
  plots: [plot(CONTAINER, 'io_full'), plot(PERF, 'iodelay')],
})

type StorageFinding = PodFinding<keyof typeof FACTS>

function isLong(finding: StorageFinding | undefined): boolean {
  const part = finding?.facts[0]?.value ?? 0
  return part >= WAITING_FOR_STORAGE.threshold.value && (finding?.lost ?? 0) >= MIN_SECONDS
}

/**
 * Returns how long a pod waited for storage, even if it is below the threshold; undefined if
 * neither `io_full` nor `iodelay` was read.
 */
export function storageWait(pod: PodEvidence): StorageFinding | undefined {
  const stalls = pod.things(CONTAINER).flatMap((thing) => stalled(thing, pod))
  return longestStalled(stalls, ({ lost }) => lost) ?? delayed(pod)
}

/** Returns how long a pod waited for storage; null if that was not read. */
export function storageTime(pod: PodEvidence): StorageTime | null {
  const wait = storageWait(pod)
  if (wait === undefined) return null
  const seconds = wait.lost ?? 0
  const sum = wait.facts.find(({ name }) => name === SUMMED_DELAY)?.value
  if (sum !== undefined) return { seconds, atOnce: seconds > 0 ? sum / seconds : 1 }
  const stalls = pod.things(CONTAINER).filter((thing) => growthOf(thing, 'io_full') !== null)
  return { seconds, atOnce: stalledAtOnce(stalls.length) }
}

/**
 * Returns the part of the life of a process in which it waited for storage, by process id: its
 * block I/O delay, or the part in which all processes of a container waited; null if neither was
 * read.
 */
export function storageShares(pod: PodEvidence): (pid: number | null) => number | null {
  const stall = maximum(pod.things(CONTAINER).map((thing) => growthOf(thing, 'io_full')))
  const ofPod = stall === null || pod.elapsed <= 0 ? null : stall / pod.elapsed
  const shares = new Map<number, number>()
  for (const { thing, seconds } of delaysOf(pod)) {
    const life = thing.to - thing.from
    if (thing.pid !== null && life > 0) shares.set(thing.pid, seconds / life)
  }
  return (pid) => shares.get(pid ?? -1) ?? ofPod
}

type Wait = StorageFinding & { readonly lost: number }

function stalled(thing: ThingOf<typeof CONTAINER>, { elapsed }: PodEvidence): readonly Wait[] {
  const full = growthOf(thing, 'io_full')
  if (full === null) return []
  return [
    {
      things: [nameOf(thing)],
      lost: full,
      facts: listFacts(FACTS, {
        'time waiting': percentOf(full, elapsed),
        'time in the samples': elapsed,
        'all processes waited': full,
        'a process waited': growthOf(thing, 'io_some'),
      }),
    },
  ]
}

/** Returns the block I/O delay of a pod. */
function delayed(pod: PodEvidence): Wait | undefined {
  const known = delaysOf(pod)
  if (known.length === 0) return undefined
  const waiting = known.filter(({ seconds }) => seconds > 0).sort((a, b) => b.seconds - a.seconds)
  const sum = waiting.reduce((all, { seconds }) => all + seconds, 0)
  const lives = waiting.map(({ thing, seconds }) => ({ seconds, life: thing.to - thing.from }))
  const lost = podDelay(lives, secondsSeen(waiting.map(({ thing }) => thing)))
  const elapsed = secondsSeen([START, ...known.map(({ thing }) => thing), ...pod.things(CONTAINER)])
  const bytes = waiting.reduce((all, { thing }) => all + bytesOf(thing), 0)
  return {
    things: waiting.map(({ thing }) => nameOf(thing)),
    lost,
    facts: listFacts(FACTS, {
      'time waiting': percentOf(lost, elapsed),
      'time in the samples': elapsed,
      [SUMMED_DELAY]: sum,
      'read and written': bytes,
    }),
  }
}

/** Returns the block I/O delays of the processes of a pod. */
function delaysOf(pod: PodEvidence) {
  return pod.things(PERF).flatMap((thing) => {
    const delay = thing.readings.get('iodelay')
    if (delay === undefined || delay.last === null) return []
    const seconds = delay.total / TICKS
    return isPossible(thing, seconds) ? [{ thing, seconds }] : []
  })
}

/**
 * Reports whether a process can have waited that long. If delay accounting is switched on while a
 * process waits, the kernel counts from the start of the machine.
 */
function isPossible({ from, to }: Thing, seconds: number): boolean {
  return seconds <= 1.5 * (to - from) + 1
}

function bytesOf({ readings }: ThingOf<typeof PERF>): number {
  const kib = (readings.get('kb_rd_s')?.sum ?? 0) + (readings.get('kb_wr_s')?.sum ?? 0)
  return kib * 1024
}

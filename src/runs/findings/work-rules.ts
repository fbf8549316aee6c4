import { median, spreadOf } from '../../lib/statistics.ts'
import type { PodEvidence, RunEvidence } from '../evidence/run-evidence.ts'
import {
  PROCESSOR_TIME_NEEDS,
  PROCESSOR_TIME_PLOTS,
  PROCESSOR_TIME_READS,
  processorTimes,
  timeByProgram,
} from '../metrics/processor-time.ts'
import { longestWaits, type WaitingLine } from '../rules/longest-wait.ts'
import {
  type Affected,
  defineRule,
  EXPLAINS_IDLE,
  type FactUnits,
  type FoundPods,
  listFacts,
} from '../rules/rule.ts'
import { factIn, thingsOf } from '../rules/sentence.ts'
import { MIN_SECONDS, percentOf } from '../rules/time-lost.ts'

/** The fewest pods that are compared: of two pods, neither can be called the unusual one. */
const MIN_PODS = 3

/** The least time that the additional work takes, in percent of the run. */
const MIN_PART = 10

/** The fact that only findings have whose time was lost. */
const IDLE = 'the other pods were idle meanwhile'

const WORK_FACTS = {
  'more than the median': 'percent',
  'CPU time in the samples': 's',
  'median of the pods': 's',
  'pods compared': 'count',
  [IDLE]: 's',
} as const satisfies FactUnits

/**
 * A pod that used more CPU time than the others did in the same program.
 *
 * The CPU time must be at least a quarter above the median: the POP Centre of Excellence calls a
 * load balance (the mean divided by the maximum) below 80 % a problem. It must also be an outlier:
 * more than four standard deviations above the median, estimated by the median absolute deviation,
 * as for outliers in the report (Iglewicz and Hoaglin, 1993, propose 3.5). Pods that a hindrance
 * held up for a tenth of the run are not compared, because they could not work as the others did.
 *
 * The additional time is lost only if the other pods ran at the same time, and were idle.
 */
export const MORE_WORK = defineRule({
  name: 'more-work',
  title: 'More work than the other pods',
  severity: 'slowdown',
  needs: PROCESSOR_TIME_NEEDS,
  threshold: {
    value: 25,
    unit: 'percent',
    condition:
      'one of at least three pods used more CPU time in a program than their median: at least ' +
      '25 % more, more than four standard deviations more (estimated by the median absolute ' +
      'deviation), and so much that it computed for at least 10 % of the run longer',
    source:
      'the POP Centre of Excellence: a load balance below 80 %; outliers: Iglewicz and ' +
      'Hoaglin, 1993, who propose 3.5; the number four: Ridealong',
  },
  find: findMoreWork,
  uncheckedIn: notCompared,
  isRelative: true,
  sentence: (worst) =>
    `used ${factIn(worst, 'CPU time in the samples')} of CPU time in ${thingsOf(worst)}, ` +
    `${factIn(worst, 'more than the median')} more than the median of the pods, ` +
    `${factIn(worst, 'median of the pods')}${idleWords(worst)}`,
  facts: WORK_FACTS,
  reads: PROCESSOR_TIME_READS,
  explains: [EXPLAINS_IDLE],
  advice:
    'Divide the work more evenly: with the load balancing of the application (balance in LAMMPS, ' +
    'for example), another decomposition, or other input for this pod.',
  plots: PROCESSOR_TIME_PLOTS,
})

type OverloadedPod = Affected<keyof typeof WORK_FACTS>

function idleWords(worst: OverloadedPod): string {
  if (worst.lost === null) return ''
  return `; meanwhile, the others were idle for ${factIn(worst, IDLE)}`
}

/** Reports whether a pod was held up for so long that its work cannot be compared. */
function isHindered({ pod, elapsed }: PodEvidence, found: FoundPods): boolean {
  return [...found].some(([{ isHindrance = false }, pods]) => {
    const lost = pods.get(pod)
    return isHindrance && (lost === null || percentOf(lost ?? 0, elapsed) >= MIN_PART)
  })
}

/** Returns why pods were not compared. Where there are only two, no rule can compare them. */
function notCompared({ pods }: RunEvidence, found: FoundPods): ReadonlyMap<string, string> {
  if (pods.length < MIN_PODS) return new Map()
  const hindered = pods.filter((pod) => isHindered(pod, found))
  const isEnough = pods.length - hindered.length >= MIN_PODS
  const reason = 'another finding says that the pod was held up'
  const all = 'other findings say that pods were held up, and fewer than three are left to compare'
  return new Map((isEnough ? hindered : pods).map(({ pod }) => [pod, isEnough ? reason : all]))
}

interface Worker {
  readonly pod: PodEvidence
  readonly program: string
  readonly seconds: number
}

function findMoreWork({ pods }: RunEvidence, found: FoundPods): readonly OverloadedPod[] {
  const workers = pods
    .filter((pod) => !isHindered(pod, found))
    .flatMap((pod) =>
      [...timeByProgram(pod)].map(([program, seconds]) => ({ pod, program, seconds })),
    )
  const byPod = new Map<string, Overloaded>()
  for (const own of Map.groupBy(workers, ({ program }) => program).values())
    for (const one of findOverloaded(own))
      if ((byPod.get(one.pod)?.size ?? 0) < one.size) byPod.set(one.pod, one)
  return [...byPod.values()]
}

type Overloaded = OverloadedPod & { readonly size: number }

function findOverloaded(workers: readonly Worker[]): readonly Overloaded[] {
  if (workers.length < MIN_PODS) return []
  const spread = spreadOf(workers.map(({ seconds }) => seconds))
  const { middle, deviation } = spread ?? { middle: 0, deviation: 0 }
  const compared = sampleOf(workers, MAX_COMPARED).map(({ pod }) => ({ pod, busy: busyTime(pod) }))
  return workers.flatMap((worker) => {
    const more = worker.seconds - middle
    const part = percentOf(more, middle)
    const isOutlier = more > 4 * deviation && part >= MORE_WORK.threshold.value
    return isOutlier ? buildOverloaded(worker, middle, compared, workers.length) : []
  })
}

/** Makes the finding about a pod, if its additional work takes long enough. */
function buildOverloaded(
  { pod, program, seconds }: Worker,
  middle: number,
  compared: readonly BusyPod[],
  count: number,
): readonly Overloaded[] {
  const more = seconds - middle
  const excess = more / Math.max(seconds / Math.max(pod.elapsed, 1), 1)
  if (excess < MIN_SECONDS || percentOf(excess, pod.elapsed) < MIN_PART) return []
  const others = compared.filter((one) => one.pod !== pod)
  const idle = median(others.map((one) => idleTime(one, pod))) ?? 0
  const isLost = idle >= MIN_IDLE * excess
  return [
    {
      pod: pod.pod,
      things: [program],
      lost: isLost ? Math.min(idle, excess) : null,
      size: excess,
      facts: listFacts(WORK_FACTS, {
        'more than the median': percentOf(more, middle),
        'CPU time in the samples': seconds,
        'median of the pods': middle,
        'pods compared': count,
        [IDLE]: isLost ? idle : null,
      }),
    },
  ]
}

/** The part of the additional time for which the others must have been idle. */
const MIN_IDLE = 0.5

/** The most pods whose idle time is compared: as many as are enough for a median. */
const MAX_COMPARED = 100

/** Returns items of a list that are evenly spread over it. */
function sampleOf<Item>(items: readonly Item[], most: number): readonly Item[] {
  const step = Math.max(items.length / most, 1)
  const count = Math.min(items.length, most)
  return Array.from({ length: count }, (_, place) => items[Math.floor(place * step)] as Item)
}

/** A pod, and the seconds in which its processes can have computed. */
interface BusyPod {
  readonly pod: PodEvidence
  readonly busy: number
}

function busyTime(pod: PodEvidence): number {
  return processorTimes(pod).reduce((sum, one) => sum + one.busy, 0)
}

/** Returns the least seconds for which a pod cannot have computed while another one ran. */
function idleTime({ pod, busy }: BusyPod, other: PodEvidence): number {
  return Math.max(sharedTime(pod, other) - busy, 0)
}

/** Returns the seconds in which both pods ran; 0 if their times are not known. */
function sharedTime(one: PodEvidence, other: PodEvidence): number {
  if (one.began === null || other.began === null) return 0
  const end = Math.min(one.began + one.elapsed, other.began + other.elapsed)
  return Math.max(end - Math.max(one.began, other.began), 0)
}

/** The shortest run in which a pod is called idle; in a shorter one, it may still be starting. */
const MIN_IDLE_SECONDS = 30

/** The least part of the run for which a line of Python waits that is named, in percent. */
const MIN_WAIT = 10

const IDLE_FACTS = {
  'use of a processor': 'percent',
  'CPU time in the samples': 's',
  'length of the run': 's',
  'waiting in the line of Python': 's',
} as const satisfies FactUnits

/**
 * A pod whose processes hardly used processors, although nothing that the rows show kept them from
 * it. It may have computed elsewhere, such as on a GPU, so no time is known to be lost.
 *
 * The threshold is Ridealong's own. If other pods are busy, a pod that runs none of their busy
 * programs, such as the launcher of an MPIJob, is expected to be idle.
 */
export const MOSTLY_IDLE = defineRule({
  name: 'mostly-idle',
  title: 'Mostly idle',
  severity: 'risk',
  needs: PROCESSOR_TIME_NEEDS,
  threshold: {
    value: 10,
    unit: 'percent',
    condition:
      'the processes of a pod together used less than 10 % of one processor in a run of at ' +
      'least 30 s, and no other finding explains it',
    source: 'Ridealong',
  },
  find: findIdle,
  isRelative: true,
  sentence: (worst) =>
    `used ${factIn(worst, 'use of a processor')} of one processor on average${reasonOf(worst)}`,
  facts: IDLE_FACTS,
  reads: PROCESSOR_TIME_READS,
  advice:
    'If the pods compute on GPUs, this is as it should be. Otherwise look at the output of the ' +
    'application: it may wait for input, for another service or for a pod that did not start, ' +
    'or not have enough work for all pods. If a line of Python is named, look at what it waits ' +
    'for. Use fewer pods if they are not needed.',
  plots: PROCESSOR_TIME_PLOTS,
})

type IdlePod = Affected<keyof typeof IDLE_FACTS>

function reasonOf(worst: IdlePod): string {
  if (worst.cause === undefined) return ', and the rows do not show why'
  const waiting = factIn(worst, 'waiting in the line of Python')
  return `; Python waited longest in ${worst.cause}: ${waiting}`
}

function findIdle(run: RunEvidence): readonly IdlePod[] {
  const { pods } = run
  const used = pods.map((pod) => {
    const programs = timeByProgram(pod)
    const seconds = [...programs.values()].reduce((sum, own) => sum + own, 0)
    const part = percentOf(seconds, pod.elapsed)
    return { pod, programs, seconds, part, isIdle: part < MOSTLY_IDLE.threshold.value }
  })
  const busy = used.filter(({ isIdle }) => !isIdle)
  const working = new Set(
    busy.flatMap(({ pod, programs }) =>
      [...programs].flatMap(([program, seconds]) => {
        return percentOf(seconds, pod.elapsed) >= MOSTLY_IDLE.threshold.value ? program : []
      }),
    ),
  )
  return used.flatMap(({ pod, programs, seconds, part, isIdle }) => {
    const isMeant = busy.length > 0 && ![...programs.keys()].some((one) => working.has(one))
    const isShort = pod.elapsed < MIN_IDLE_SECONDS || programs.size === 0
    if (!isIdle || isMeant || isShort) return []
    return [idlePod({ pod, programs, seconds, part }, run.view(longestWaits).get(pod.pod))]
  })
}

interface Use {
  readonly pod: PodEvidence
  readonly programs: ReadonlyMap<string, number>
  /** The CPU time, and the same in percent of the run. */
  readonly seconds: number
  readonly part: number
}

function idlePod({ pod, programs, seconds, part }: Use, line: WaitingLine | undefined): IdlePod {
  const named = percentOf(line?.seconds ?? 0, pod.elapsed) >= MIN_WAIT ? line : undefined
  return {
    pod: pod.pod,
    things: [...programs.keys()],
    ...(named !== undefined && { cause: named.name }),
    lost: null,
    size: pod.elapsed - seconds,
    facts: listFacts(IDLE_FACTS, {
      'use of a processor': part,
      'CPU time in the samples': seconds,
      'length of the run': pod.elapsed,
      'waiting in the line of Python': named?.seconds ?? null,
    }),
  }
}

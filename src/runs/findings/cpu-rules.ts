import { newReading } from '../evidence/column-reading.ts'
import {
  type Need,
  need,
  plot,
  type SectionColumns,
  type Thing,
  type ThingOf,
} from '../evidence/evidence.ts'
import {
  growthOf,
  lastOf,
  nameOf,
  type PodEvidence,
  START,
  secondsSeen,
  sumOf,
  unreadColumns,
} from '../evidence/run-evidence.ts'
import type { ContainerUse } from '../log/container-use.ts'
import { processorTimes } from '../metrics/processor-time.ts'
import { CONTAINERS, PROCESS_SAMPLES } from '../metrics/usual-sections.ts'
import { perPod } from '../rules/per-pod.ts'
import {
  type Affected,
  defineRule,
  EXPLAINS_IDLE,
  type FactUnits,
  listFacts,
  type PodFinding,
} from '../rules/rule.ts'
import { factIn, factText, thingsOf, WAITED_FACTS, waitedText } from '../rules/sentence.ts'
import { joinLosses, MIN_SECONDS, percentOf, timeLost } from '../rules/time-lost.ts'
import { ALLOWED, RUNNING_COUNTERS } from './placed-process.ts'
import { OTHERS, POD_ITSELF, processorUse, THREADS } from './processor-users.ts'

const CONTAINER = {
  ...CONTAINERS,
  columns: ['nr_periods', 'nr_throttled', 'throttled', 'cpu_usage', 'cpu_limit'],
} as const satisfies SectionColumns
/** The samples of running and of waiting for a processor, of each process. */
export const RUNNING_SAMPLES = {
  ...PROCESS_SAMPLES,
  columns: ['percent_wait', 'percent_cpu'],
} as const satisfies SectionColumns

/** The name of a fact: the limit in `spec.resources` of the pod. */
const POD_LIMIT = 'CPU limit of the whole pod'

const THROTTLED_FACTS = {
  'throttled periods': 'percent',
  'time throttled': 'percent',
  'throttled, summed over processors': 's',
  'CPU time of the container': 's',
  'CPU limit': 'cores',
  [POD_LIMIT]: 'cores',
} as const satisfies FactUnits

/**
 * The CPU limit of a container, which the kernel enforces in periods of usually 100 ms.
 *
 * The threshold is that of the alert CPUThrottlingHigh of the kubernetes-mixin, a collection of
 * Prometheus alerts for Kubernetes: cpuThrottlingPercent, 25. The alert fires if this is true of
 * the last five minutes for 15 minutes. The finding is about the average over the run.
 */
export const THROTTLED = defineRule({
  name: 'throttled',
  title: 'Throttled',
  severity: 'slowdown',
  area: 'processors',
  needs: [[need(CONTAINER, 'nr_periods', 'nr_throttled', 'throttled', 'cpu_usage')]],
  threshold: {
    value: 25,
    unit: 'percent',
    condition: 'the CPU limit was used up in at least 25 % of its periods',
    source:
      'the alert CPUThrottlingHigh of the kubernetes-mixin: cpuThrottlingPercent, 25 (there for ' +
      '15 minutes, here on average over the run)',
  },
  find: perPod((pod) => pod.things(CONTAINER).map((thing) => findThrottled(pod, thing))),
  sentence: (worst) =>
    `was throttled for ${factIn(worst, 'time throttled')} of the time in which it could have ` +
    `run, because ${thingsOf(worst)} used up ${limitText(worst)} in ` +
    `${factIn(worst, 'throttled periods')} of the periods`,
  facts: THROTTLED_FACTS,
  reads: [CONTAINER],
  isHindrance: true,
  explains: [
    {
      rules: ['pinned-to-same-core', 'waiting-for-cpu', 'more-work'],
      of: 'same pod',
      because: 'the kernel counts the time of throttled threads as waiting on a run queue',
    },
    EXPLAINS_IDLE,
  ],
  advice:
    'Raise or remove the CPU limit of the container (resources.limits.cpu) or, if the finding ' +
    'names it, of the whole pod (spec.resources), or start fewer processes and threads: no more ' +
    'than the number of processors in the limit.',
  plots: [plot(CONTAINER, 'throttled'), plot(CONTAINER, 'nr_throttled')],
})

/** Returns the limit with its value, if the value is known. */
function limitText({ facts }: Pick<PodFinding, 'facts'>): string {
  const [pod, own] = [POD_LIMIT, 'CPU limit'].map((name) => facts.find((one) => one.name === name))
  if (pod !== undefined) return `the CPU limit of the whole pod (${factText(pod)})`
  return own === undefined ? 'the CPU limit' : `the CPU limit of ${factText(own)}`
}

/** The difference of two equal limits, because the kernel has whole microseconds of a period. */
const ROUNDING = 0.001

/**
 * Returns the limit of the whole pod if it is the limit of a container. The kubelet sets it for a
 * container without a limit (kubernetes pkg/kubelet/kuberuntime/kuberuntime_container_linux.go,
 * getCPULimit).
 */
function podLimitOf({ podLimits }: PodEvidence, thing: ThingOf<typeof CONTAINER>): number | null {
  const limit = lastOf(thing, 'cpu_limit')
  const cpu = podLimits?.cpu ?? null
  return cpu !== null && limit !== null && Math.abs(cpu - limit) <= ROUNDING ? cpu : null
}

/** What the CPU limit of a container took, and for how many seconds this was counted. */
type Throttling = Readonly<
  Record<'seconds' | 'cpu' | 'periods' | 'throttledPeriods' | 'throttled', number>
>

/**
 * Returns the throttling from the start of a container to its end if a summary has it, and
 * otherwise between the first and the last sample.
 */
function throttlingOf(pod: PodEvidence, thing: ThingOf<typeof CONTAINER>): Throttling {
  const sampled = {
    seconds: thing.readings.get('throttled')?.seconds ?? 0,
    cpu: growthOf(thing, 'cpu_usage') ?? 0,
    periods: growthOf(thing, 'nr_periods') ?? 0,
    throttledPeriods: growthOf(thing, 'nr_throttled') ?? 0,
    throttled: growthOf(thing, 'throttled') ?? 0,
  }
  const use = pod.useOf(thing)
  return use !== undefined && isLonger(use, sampled) ? use : sampled
}

function isLonger(use: ContainerUse, sampled: Throttling): use is ContainerUse & Throttling {
  const isKnown = (Object.keys(sampled) as (keyof Throttling)[]).every((name) => use[name] !== null)
  return isKnown && (use.seconds ?? 0) >= sampled.seconds
}

function findThrottled(
  pod: PodEvidence,
  thing: ThingOf<typeof CONTAINER>,
): PodFinding<keyof typeof THROTTLED_FACTS> | undefined {
  const { periods, throttledPeriods, throttled, cpu, seconds } = throttlingOf(pod, thing)
  const part = percentOf(throttledPeriods, periods)
  const lost = timeLost(throttled, cpu, seconds)
  if (part < THROTTLED.threshold.value || lost < MIN_SECONDS) return undefined
  return {
    things: [nameOf(thing)],
    lost,
    facts: listFacts(THROTTLED_FACTS, {
      'throttled periods': part,
      'time throttled': percentOf(throttled, throttled + cpu),
      'throttled, summed over processors': throttled,
      'CPU time of the container': cpu,
      'CPU limit': lastOf(thing, 'cpu_limit'),
      [POD_LIMIT]: podLimitOf(pod, thing),
    }),
  }
}

/** The columns that are needed to subtract the time of throttling from the time of waiting. */
const WITH_THROTTLING: readonly Need[] = [
  need(RUNNING_COUNTERS, 'run_delay', 'cpu_time'),
  need(CONTAINER, 'throttled'),
]

/** The name of a fact that only findings from the rows of perf-sysstat have. */
const SAMPLED = 'percent_wait'

/** The name of a fact: the CPU time of the pod, compared with the limit of the whole pod. */
const POD_USE = 'used of the limit of the whole pod'

/** The name of a fact: the processors that the threads of the pod used or waited for. */
const WANTED = 'processors that the pod could use'

/** The name of a fact: the CPU time of the pod, in percent of that of the processors. */
const OWN_USE = 'used of these processors by the pod'

/**
 * The part of the limit of the whole pod, in percent, from which the limit is named as the cause. A
 * pod whose threads wait because the limit is used up uses nearly all of the limit. The number is
 * below 100, because a run also has phases with less work.
 */
const LIMIT_USED = 90

/** A cause, as the sentence names it. */
const POD_USED_UP = 'the whole pod used up its CPU limit'

type WaitFinding = PodFinding<keyof typeof WAITING_FACTS>

const WAITING_FACTS = {
  ...WAITED_FACTS,
  'waiting, summed over threads': 's',
  'CPU time in the samples': 's',
  [SAMPLED]: 'percent',
  [POD_LIMIT]: 'cores',
  [POD_USE]: 'percent',
  'processors allowed': 'cores',
  [OWN_USE]: 'percent',
  [WANTED]: 'cores',
} as const satisfies FactUnits

/**
 * Threads that could run and waited on a run queue. The kernel also counts the time in which the
 * CPU limit kept threads from running as waiting. With the columns of the metric pressure, this
 * time is subtracted; otherwise the finding names both causes. The kernel does not count throttling
 * by the limit of the whole pod as throttling of a container. If the pod used nearly all of this
 * limit, the limit is the cause. Otherwise the processors on which the threads may run, and the CPU
 * time of the pod, show who used them.
 *
 * Source of the measure: Brendan Gregg, "USE Method: Linux Performance Checklist", which names the
 * second field of /proc/PID/schedstat for the saturation of CPUs. The method gives no number. A
 * tenth of the run is Ridealong's own threshold: a pod that shares a processor with one busy
 * process waits half of its time, and the interruptions by the system are far below a tenth.
 */
export const WAITING_FOR_CPU = defineRule({
  name: 'waiting-for-cpu',
  title: 'Waiting for a CPU',
  severity: 'slowdown',
  area: 'processors',
  needs: [WITH_THROTTLING, [need(RUNNING_SAMPLES, 'percent_wait', 'percent_cpu')]],
  threshold: {
    value: 10,
    unit: 'percent',
    condition:
      'for at least 10 % of the run, a process waited on a run queue, or several processes of ' +
      'one program did, one after another or together',
    source:
      'the measure: the USE method of Brendan Gregg, saturation of CPUs, /proc/PID/schedstat; ' +
      'the number: Ridealong',
  },
  find: perPod(findWaiting),
  sentence: (worst) => {
    const waited = waitedText(worst)
    const who = thingsOf(worst)
    return `waited for a CPU for ${waited}: ${who} could run, but ${reasonFor(worst)}`
  },
  facts: WAITING_FACTS,
  reads: [RUNNING_COUNTERS, CONTAINER, RUNNING_SAMPLES, ALLOWED, THREADS],
  isHindrance: true,
  explains: [EXPLAINS_IDLE],
  advice:
    'Request as many processors as the processes use (resources.requests.cpu), and start no more ' +
    'processes and threads than these.',
  adviceByCause: {
    [POD_USED_UP]:
      'Raise the CPU limit of the whole pod (spec.resources), or start fewer processes and ' +
      'threads.',
    [POD_ITSELF]:
      'Let the pod run on more processors, or start no more processes and threads than it has ' +
      'processors (mpirun -np, OMP_NUM_THREADS).',
    [OTHERS]:
      'Request as many processors as the pod could have used (resources.requests.cpu), so that ' +
      'the scheduler places fewer pods on the node.',
  },
  plots: [plot(RUNNING_COUNTERS, 'run_delay'), plot(RUNNING_SAMPLES, 'percent_wait')],
})

function reasonFor(worst: Affected<keyof typeof WAITING_FACTS>): string {
  const { cause, facts } = worst
  switch (cause) {
    case POD_USED_UP:
      return (
        `${cause}: ${factIn(worst, POD_USE)} of ${factIn(worst, POD_LIMIT)}, ` +
        'so that threads waited for its next period'
      )
    case POD_ITSELF:
      return `${cause}: its threads used ${ownUse(worst)} on which they may run`
    case OTHERS:
      return (
        `${cause}: the pod used ${ownUse(worst)} on which it may run, and could have used ` +
        factIn(worst, WANTED)
      )
    default:
      return facts.some(({ name }) => name === SAMPLED)
        ? 'did not run immediately, or had used up the CPU limit (the metric pressure shows which)'
        : 'did not run immediately'
  }
}

/** Returns a part of processors: `5.84 % of the 2 processors`. */
function ownUse(worst: Affected<keyof typeof WAITING_FACTS>): string {
  return `${factIn(worst, OWN_USE)} of the ${factIn(worst, 'processors allowed')}`
}

/** Returns how much of the limit of the whole pod was used, in percent; null without a limit. */
function podUse(pod: PodEvidence): number | null {
  const cpu = pod.podLimits?.cpu ?? null
  if (cpu === null) return null
  const containers = sumOf(pod.things(CONTAINER).map((thing) => growthOf(thing, 'cpu_usage')))
  const processes = processorTimes(pod).reduce((sum, { seconds }) => sum + seconds, 0)
  return percentOf(containers ?? processes, cpu * pod.elapsed)
}

function findWaiting(pod: PodEvidence): readonly WaitFinding[] {
  const hasThrottling = WITH_THROTTLING.every((need) => unreadColumns(pod, need).length === 0)
  return hasThrottling ? findDelays(pod) : findSampledWaits(pod)
}

function findDelays(pod: PodEvidence): readonly WaitFinding[] {
  const processes = pod.things(RUNNING_COUNTERS)
  const ownParts = unthrottledParts(pod, processes)
  const waits = processes.map((thing) => {
    const waited = (growthOf(thing, 'run_delay') ?? 0) * (ownParts.get(thing.container ?? '') ?? 0)
    const ran = growthOf(thing, 'cpu_time') ?? 0
    const seconds = thing.readings.get('run_delay')?.seconds ?? 0
    return { thing, waited, ran, seconds, isSampled: false }
  })
  return findWaits(pod, waits)
}

function findSampledWaits(pod: PodEvidence): readonly WaitFinding[] {
  const waits = pod.things(RUNNING_SAMPLES).map((thing) => {
    const wait = thing.readings.get('percent_wait') ?? newReading()
    const ran = (thing.readings.get('percent_cpu')?.sum ?? 0) / 100
    return { thing, waited: wait.sum / 100, ran, seconds: wait.covered, isSampled: true }
  })
  return findWaits(pod, waits)
}

/** The seconds of waiting and of CPU time, summed over threads, and how long they were measured. */
interface Waiting {
  readonly thing: Thing
  readonly waited: number
  readonly ran: number
  readonly seconds: number
  /** Whether the numbers come from the rows of perf-sysstat. */
  readonly isSampled: boolean
}

/**
 * Returns the findings about each process. If the processes of a program lost more together, one
 * after another, than each of them, or as much as each other, there is one finding about all of
 * them instead.
 */
function findWaits(pod: PodEvidence, waits: readonly Waiting[]): readonly WaitFinding[] {
  const elapsed = secondsSeen([START, ...waits.map(({ thing }) => thing), ...pod.things(CONTAINER)])
  const lostBy = waits.map((one) => {
    return { ...one, lost: Math.min(timeLost(one.waited, one.ran, one.seconds), elapsed) }
  })
  const programs = Map.groupBy(lostBy, ({ thing }) => `${thing.container} ${thing.program}`)
  const long = [...programs.values()]
    .flatMap((own) => addUp(own) ?? own.map(namedWait))
    .filter(({ lost }) => isLong(lost, elapsed))
  if (long.length === 0) return []
  // The cause is that of the pod, so it is found once.
  const isSampled = long.some((one) => one.isSampled)
  const why = causeOfWaiting(pod, isSampled ? undefined : processorsWanted(waits, elapsed))
  return long.map((one) => buildFinding(one, elapsed, why))
}

interface Wait extends Waiting {
  readonly lost: number
}

/** The waiting of a process, or of several processes of a program. */
interface NamedWait extends Omit<Wait, 'thing' | 'seconds'> {
  readonly name: string
}

function namedWait({ thing, ...wait }: Wait): NamedWait {
  return { ...wait, name: nameOf(thing) }
}

/** The part of the longest loss of a process from which others of its program are like it. */
const ALIKE = 0.9

/**
 * Adds up the waiting of the processes of a program that ran one after another; of those that ran
 * together, it is the mean. Returns undefined if one of them lost more by itself than the others.
 */
function addUp(own: readonly Wait[]): NamedWait | undefined {
  const sum = (valueIn: (one: Wait) => number) => own.reduce((all, one) => all + valueIn(one), 0)
  const longest = own.reduce((most, one) => Math.max(most, one.lost), 0)
  const losses = own.map(({ thing, lost }) => ({ seconds: lost, life: thing.to - thing.from }))
  const joined = joinLosses(losses, secondsSeen(own.map(({ thing }) => thing)))
  const lost = Math.max(joined, longest)
  const long = own.filter((one) => one.lost >= MIN_SECONDS)
  const areAlike = long.length > 1 && long.every((one) => one.lost >= ALIKE * longest)
  if (lost === longest && !areAlike) return undefined
  const count = lost > longest ? own.length : long.length
  const name = `${own[0]?.thing.program ?? '?'} (${count} processes)`
  const isSampled = own.some((one) => one.isSampled)
  return { name, lost, waited: sum(({ waited }) => waited), ran: sum(({ ran }) => ran), isSampled }
}

function isLong(lost: number, elapsed: number): boolean {
  return percentOf(lost, elapsed) >= WAITING_FOR_CPU.threshold.value && lost >= MIN_SECONDS
}

function buildFinding(
  { name, lost, waited, ran, isSampled }: NamedWait,
  elapsed: number,
  { cause, facts }: ReturnType<typeof causeOfWaiting>,
): WaitFinding {
  const part = percentOf(lost, elapsed)
  return {
    things: [name],
    lost,
    ...(cause === undefined ? {} : { cause }),
    facts: listFacts(WAITING_FACTS, {
      'time waiting': part,
      'time in the samples': elapsed,
      'waiting, summed over threads': waited,
      'CPU time in the samples': ran,
      [SAMPLED]: isSampled ? part : null,
      ...facts,
    }),
  }
}

/** Returns the processors that the threads of a pod used or waited for, on average. */
function processorsWanted(waits: readonly Waiting[], elapsed: number): number {
  return waits.reduce((sum, { waited, ran }) => sum + waited + ran, 0) / elapsed
}

/**
 * Returns why the threads of a pod waited, as far as it is known, and the numbers that show it.
 *
 * @param wanted undefined if the numbers come from the rows of perf-sysstat
 */
function causeOfWaiting(pod: PodEvidence, wanted: number | undefined) {
  const use = podUse(pod)
  const limit = { [POD_LIMIT]: pod.podLimits?.cpu ?? null, [POD_USE]: use }
  if (use !== null && use >= LIMIT_USED) return { cause: POD_USED_UP, facts: limit }
  if (wanted === undefined) return { facts: limit }
  const processors = processorUse(pod)
  if (processors === undefined) return { facts: limit }
  const { allowed, used, cause } = processors
  return {
    cause,
    facts: { ...limit, 'processors allowed': allowed, [OWN_USE]: used, [WANTED]: wanted },
  }
}

/**
 * Returns the part of each container's run-queue delay that was not throttling, from 0 to 1; 0 if
 * the throttled time is not known.
 */
function unthrottledParts(
  pod: PodEvidence,
  processes: readonly ThingOf<typeof RUNNING_COUNTERS>[],
): ReadonlyMap<string, number> {
  const delays = new Map<string, number>()
  for (const thing of processes) {
    const container = thing.container ?? ''
    const delay = growthOf(thing, 'run_delay') ?? 0
    delays.set(container, (delays.get(container) ?? 0) + delay)
  }
  const containers = Map.groupBy(pod.things(CONTAINER), ({ container }) => container ?? '')
  return new Map(
    [...delays].map(([container, delay]) => {
      const own = containers.get(container) ?? []
      const throttled = sumOf(own.map((one) => growthOf(one, 'throttled')))
      const part = delay > 0 && throttled !== null ? 1 - throttled / delay : 0
      return [container, Math.max(part, 0)]
    }),
  )
}

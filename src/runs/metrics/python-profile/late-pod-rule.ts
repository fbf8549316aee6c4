import { median, minimum } from '../../../lib/statistics.ts'
import type { RunEvidence } from '../../evidence/run-evidence.ts'
import { type FunctionByPod, type ProfileByPod, perProcess } from '../../profiles/profile-by-pod.ts'
import { OTHER, type ProfileKind } from '../../profiles/profile-run.ts'
import {
  type Affected,
  defineRule,
  EXPLAINS_IDLE,
  type FactUnits,
  listFacts,
} from '../../rules/rule.ts'
import { factIn, thingsOf } from '../../rules/sentence.ts'
import { MIN_SECONDS, percentOf } from '../../rules/time-lost.ts'
import { PYTHON } from './python-rule.ts'

/** The least part of their time that all other pods wait in the line, in percent. */
const MIN_PERCENT = 10
/** The most that the late pod waits in the line, as a part of the wait of any other pod. */
const MAX_OWN = 0.25
/** The least that the late pod runs more, as a part of what the others wait more. */
const MIN_MORE = 0.5
/** The times that the rule reads. */
const KINDS: readonly ProfileKind[] = ['waiting', 'running']
/** The fewest pods: of two pods, each could be the one that waits for the other. */
const MIN_PODS = 3

const FACTS = {
  'least part of the time of the others': 'percent',
  'least wait of the others': 's',
  'wait of this pod': 's',
  'more running than the median': 's',
  'pods that wait': 'count',
} as const satisfies FactUnits

/**
 * A pod that runs while all other pods wait in the same line of Python, such as that of a
 * collective call. The pod may also wait for something else; then `waiting-in-python` names the
 * line.
 */
export const ALL_WAIT_FOR_ONE = defineRule({
  name: 'all-wait-for-one',
  title: 'Runs while all other pods wait in Python',
  severity: 'slowdown',
  isOptional: true,
  needs: [[PYTHON]],
  threshold: {
    value: MIN_PERCENT,
    unit: 'percent',
    condition:
      'of at least three pods, the main threads of all but one waited in the same line of ' +
      'Python for at least 10 % of their time, and at least 1 s. The late pod waited there for ' +
      'at most a quarter of the shortest wait of the others, and ran longer than their median, ' +
      'by at least half of the difference. Of several processes of a pod, the mean counts',
    source: 'a load balance: the POP Centre of Excellence; the numbers: Ridealong',
  },
  find: findLate,
  isRelative: true,
  sentence: (worst) =>
    `held up all other pods: they waited at least ${factIn(worst, 'least wait of the others')} ` +
    `in ${worst.cause}, and it waited ${factIn(worst, 'wait of this pod')} there. It ran ` +
    `${factIn(worst, 'more running than the median')} longer than their median, most of it in ` +
    thingsOf(worst),
  facts: FACTS,
  reads: [PYTHON],
  explains: [EXPLAINS_IDLE],
  advice:
    'Look at what this pod does in the line in which it runs: it may have more data, other ' +
    'input, or work that only one process does, such as writing a file. Divide the work more ' +
    'evenly, or do it less often. The flame graph of the report shows which functions called ' +
    'the line.',
  // The rows are sums over the whole run.
  plots: [],
})

type AffectedPod = Affected<keyof typeof FACTS>

function findLate({ profiles }: RunEvidence): readonly AffectedPod[] {
  const means = profiles.filter(({ kind }) => KINDS.includes(kind)).map(perProcess)
  const programs = Map.groupBy(means, ({ executable }) => executable)
  return [...programs.values()].flatMap((own) => {
    const waiting = own.find(({ kind }) => kind === 'waiting')
    const running = own.find(({ kind }) => kind === 'running')
    if (waiting === undefined || running === undefined) return []
    const times = podTimes(waiting, running)
    const late = waiting.functions.flatMap((line) => lateIn(line, times))
    // Of several lines, such as those of one loop, the one in which the others wait longest.
    const [worst] = late.sort((a, b) => (b.size ?? 0) - (a.size ?? 0))
    return worst === undefined ? [] : { ...worst, things: [mostIn(running, worst.pod)] }
  })
}

/** The seconds of a pod in a program. */
interface PodTimes {
  readonly pod: string
  /** The index of the pod in the profile of the waiting; undefined if it is not there. */
  readonly place: number | undefined
  readonly runs: number
  readonly whole: number
}

function podTimes(waiting: ProfileByPod, running: ProfileByPod): readonly PodTimes[] {
  const [waits, runs] = [waiting, running].map(
    ({ pods, seconds }) => new Map(pods.map((pod, index) => [pod, seconds[index] ?? 0])),
  )
  const places = new Map(waiting.pods.map((pod, index) => [pod, index]))
  return [...new Set([...waiting.pods, ...running.pods])].map((pod) => {
    const own = runs?.get(pod) ?? 0
    return { pod, place: places.get(pod), runs: own, whole: own + (waits?.get(pod) ?? 0) }
  })
}

/** Finds the pod for which all others wait in a line. */
function lateIn(
  { name, times }: FunctionByPod,
  all: readonly PodTimes[],
): readonly Omit<AffectedPod, 'things'>[] {
  // A pod without a time in the line does not wait there.
  if (name === OTHER || all.length < MIN_PODS || times.size < all.length - 1) return []
  const [own, ...others] = all
    .map((one) => ({ ...one, waits: times.get(one.place ?? -1)?.self ?? 0 }))
    .sort((a, b) => a.waits - b.waits)
  const [least] = others
  if (own === undefined || least === undefined) return []
  const percent = leastPercent(others)
  const isWaiting = percent >= MIN_PERCENT && least.waits >= MIN_SECONDS
  const more = own.runs - (median(others.map(({ runs }) => runs)) ?? 0)
  const difference = least.waits - own.waits
  if (!isWaiting || own.waits > MAX_OWN * least.waits || more < MIN_MORE * difference) return []
  const facts = listFacts(FACTS, {
    'least part of the time of the others': percent,
    'least wait of the others': least.waits,
    'wait of this pod': own.waits,
    'more running than the median': more,
    'pods that wait': others.length,
  })
  return [{ pod: own.pod, lost: null, size: difference, cause: name, facts }]
}

function leastPercent(others: readonly { readonly waits: number; readonly whole: number }[]) {
  return minimum(others.map(({ waits, whole }) => percentOf(waits, whole))) ?? 0
}

/** Returns the line in which a pod runs longer than the median of the others by most. */
function mostIn({ pods, functions }: ProfileByPod, pod: string): string {
  const index = pods.indexOf(pod)
  const more = functions.map(({ name, times }) => {
    // Most of many functions are those of few pods: more than half of the times are then 0.
    const isRare = 2 * times.size < pods.length - 1
    const others = isRare
      ? []
      : pods.flatMap((_, at) => (at === index ? [] : (times.get(at)?.self ?? 0)))
    return { name, more: (times.get(index)?.self ?? 0) - (median(others) ?? 0) }
  })
  return more.sort((a, b) => b.more - a.more)[0]?.name ?? OTHER
}

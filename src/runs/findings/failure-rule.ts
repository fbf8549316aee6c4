import type { PodEvidence, RunEvidence } from '../evidence/run-evidence.ts'
import type { EndedContainer } from '../log/entry.ts'
import { type Affected, defineRule, type FactUnits, listFacts } from '../rules/rule.ts'
import { factIn, thingsOf } from '../rules/sentence.ts'
import { describeEnd, SIGKILL, SIGTERM, signalIn } from './signals.ts'

const LATER = 'containers that a signal ended later'

const FACTS = {
  'exit code': 'count',
  signal: 'count',
  'after the first sample': 's',
  [LATER]: 'count',
} as const satisfies FactUnits

/** The causes, as the sentence names them. */
const FIRST = 'it failed first'
const AFTER_ANOTHER = 'it failed after another pod'

/**
 * Containers of the application that failed, in the order of time. The status of the pods says when
 * a container ended, in whole seconds, on the clock of its node.
 *
 * When a pod fails, its launcher or controller usually stops the other pods with SIGTERM or
 * SIGKILL. A finding counts the containers that these signals ended after the first failure, and
 * names none of them.
 * Before the first failure, these signals do not count in a pod that is being deleted: this is how
 * a user or an operator ends it.
 */
export const CONTAINER_FAILED = defineRule({
  name: 'container-failed',
  title: 'A container failed',
  severity: 'failure',
  // The status of the pod is enough.
  needs: [[]],
  threshold: {
    value: 1,
    unit: 'count',
    condition:
      'a container of the application ended with an exit code other than 0, unless SIGTERM or ' +
      'SIGKILL ended it in a pod that was being deleted, or after the first failure',
    source: 'the status of the pod (core/v1 ContainerStateTerminated)',
  },
  canFind: ({ ended }) => ended !== null,
  find: ({ pods }) => findFailed(pods),
  uncheckedIn: podsWithoutStatus,
  sentence: describeFailure,
  facts: FACTS,
  reads: [],
  isHindrance: true,
  advice:
    'Read the last lines that the container of the first failure printed (kubectl logs POD -c ' +
    'CONTAINER, with --previous if it was restarted). SIGABRT, SIGBUS, SIGFPE, SIGILL and ' +
    'SIGSEGV are errors of the program: start it with a debugger or with core files to find the ' +
    'place.',
  plots: [],
})

/** The word for each cause. */
const ORDER: Readonly<Record<string, string>> = {
  [FIRST]: ' first',
  [AFTER_ANOTHER]: ' after another pod',
}

function describeFailure(worst: Affected<keyof typeof FACTS>): string {
  const { cause = '', ended, facts } = worst
  const has = (wanted: keyof typeof FACTS) => facts.some(({ name }) => name === wanted)
  const time = has('after the first sample')
    ? `, ${factIn(worst, 'after the first sample')} after the first sample`
    : ''
  const restarted = ended?.restarted === true ? ', and was restarted' : ''
  const others = has(LATER) ? `. Then SIGTERM or SIGKILL ended ${otherContainers(worst)}` : ''
  const end = `${thingsOf(worst)} ended with ${describeEnd(ended)}${time}${restarted}`
  return `failed${ORDER[cause] ?? ''}: ${end}${others}`
}

function otherContainers(worst: Affected<keyof typeof FACTS>): string {
  const count = factIn(worst, LATER)
  return count === '1' ? '1 other container' : `${count} other containers`
}

const STATUS_UNKNOWN = 'only the output of collect says how the containers of the pods ended'

function podsWithoutStatus({ pods }: RunEvidence): ReadonlyMap<string, string> {
  const unknown = pods.filter(({ ended }) => ended === null)
  return new Map(unknown.map(({ pod }) => [pod, STATUS_UNKNOWN]))
}

/** A container that ended with an exit code other than 0. */
interface Failure {
  readonly pod: PodEvidence
  readonly ended: EndedContainer
  readonly exitCode: number
  /** When it ended, in seconds since 1970; null if this is not known. */
  readonly at: number | null
  /** Whether SIGTERM or SIGKILL ended it, but not because memory ran out. */
  readonly isStopped: boolean
}

function findFailed(pods: readonly PodEvidence[]): readonly Affected<keyof typeof FACTS>[] {
  const all = pods.flatMap(failuresOf).sort(compareTime)
  const failures = all.filter(({ isStopped, ended }) => !isStopped || !ended.deleted)
  const [first] = failures
  if (first === undefined) return []
  const isLater = (one: Failure) => one.at !== null && compareTime(first, one) < 0
  const later = all.filter((one) => one.isStopped && isLater(one)).length
  const named = failures.filter((one) => !one.isStopped || !isLater(one))
  const isOrdered = first.at !== null && (later > 0 || named.some(isLater))
  const byPod = Map.groupBy(named, ({ pod }) => pod)
  return [...byPod.values()].flatMap(([own]) => {
    if (own === undefined) return []
    const isFirst = isOrdered && !isLater(own)
    if (isOutOfMemory(own) && !isFirst) return []
    return [describe(own, { isOrdered, isFirst, later: isFirst ? later : 0 })]
  })
}

/** The rule `oom-killed` names each of these containers. */
function isOutOfMemory({ ended }: Failure): boolean {
  return ended.reason === OUT_OF_MEMORY
}

const OUT_OF_MEMORY = 'OOMKilled'

/** The signals with which launchers and the kubelet stop a container. */
const STOPPING: readonly (number | null)[] = [SIGTERM, SIGKILL]

/** Reports whether SIGTERM or SIGKILL ended a container, but not because memory ran out. */
export function isStopped(ended: EndedContainer): boolean {
  return STOPPING.includes(signalIn(ended)) && ended.reason !== OUT_OF_MEMORY
}

function failuresOf(pod: PodEvidence): readonly Failure[] {
  return (pod.ended ?? []).flatMap((ended) => {
    const { exitCode, finishedAt } = ended
    if (exitCode === null || exitCode === 0) return []
    return [{ pod, ended, exitCode, at: secondsOf(finishedAt), isStopped: isStopped(ended) }]
  })
}

/** Returns a time in seconds since 1970; null if it is missing or invalid. */
function secondsOf(time: string | null): number | null {
  const milliseconds = Date.parse(time ?? '')
  return Number.isNaN(milliseconds) ? null : milliseconds / 1000
}

/**
 * Sorts by time, and within a second failures before containers that were stopped. A failure
 * without a time is not ordered before or after another one.
 */
function compareTime(a: Failure, b: Failure): number {
  if (a.at === null || b.at === null) return Number(a.at === null) - Number(b.at === null)
  return a.at - b.at || Number(a.isStopped) - Number(b.isStopped)
}

interface Order {
  /** Whether the failures have an order of time. */
  readonly isOrdered: boolean
  readonly isFirst: boolean
  readonly later: number
}

function describe(failure: Failure, { isOrdered, isFirst, later }: Order) {
  const { pod, ended, exitCode, at } = failure
  const after = at === null || pod.began === null ? null : at - pod.began
  const cause = isFirst ? FIRST : AFTER_ANOTHER
  return {
    pod: pod.pod,
    things: [`container ${ended.container}`],
    lost: null,
    ...(isOrdered ? { cause } : {}),
    ended,
    facts: listFacts(FACTS, {
      'exit code': exitCode,
      signal: signalIn(ended),
      'after the first sample': after !== null && after >= 0 ? after : null,
      [LATER]: later > 0 ? later : null,
    }),
  }
}

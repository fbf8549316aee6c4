import { capitalized } from '../../lib/capitalized.ts'
import type { PodEvidence, RunEvidence } from '../evidence/run-evidence.ts'
import { type EndedContainer, isReplacedEnd } from '../log/entry.ts'
import { readProgramEnds } from '../metrics/program-ends.ts'
import { type Affected, defineRule, type FactUnits, listFacts } from '../rules/rule.ts'
import { factIn, podsText, thingsOf } from '../rules/sentence.ts'
import { describeEnd, SIGKILL, SIGTERM, signalIn } from './signals.ts'

const LATER = 'containers that a signal ended later'
const TIME = 'after the first sample'

const FACTS = {
  'exit code': 'count',
  signal: 'count',
  [TIME]: 's',
  [LATER]: 'count',
} as const satisfies FactUnits

type FactName = keyof typeof FACTS

/** The causes: which container failed first, if several failed. */
const FIRST = 'it failed first'
const UNORDERED = 'it is not known which pod failed first'
const AFTER_ANOTHER = 'it failed after another pod'

const READ_OUTPUT =
  'Read the last lines that the container of the first failure printed (kubectl logs POD -c ' +
  'CONTAINER, with --previous if it was restarted).'
const READ_ALL_OUTPUT =
  'Read the last lines that each of these containers printed (kubectl logs POD -c CONTAINER, ' +
  'with --previous if it was restarted): which pod failed first is not known. SIGKILL comes from ' +
  'outside of the program, for example from the kubelet or the kernel: look at the events of the ' +
  'pod (kubectl describe pod POD).'
const ERROR_SIGNALS =
  'SIGABRT, SIGBUS, SIGFPE, SIGILL and SIGSEGV are errors of the program: start it with a ' +
  'debugger or with core files to find the place.'

/**
 * Containers of the application that failed, in the order of time. The status of the pods says when
 * a container ended, in whole seconds, on the clock of its node. So there is no order within a
 * second.
 *
 * When a pod fails, its launcher or controller usually stops the other pods with SIGTERM or
 * SIGKILL. A finding counts the containers that these signals ended in a second after the first
 * failure, and names none of them.
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
  find: (run) => withFirstEnd(findFailed(run.pods), run),
  uncheckedIn: podsWithoutStatus,
  isWholeText: true,
  sentence: (_, pods) => describeFailures(pods),
  facts: FACTS,
  reads: [],
  isHindrance: true,
  advice: `${READ_OUTPUT} ${ERROR_SIGNALS}`,
  adviceByCause: { [UNORDERED]: `${READ_ALL_OUTPUT} ${ERROR_SIGNALS}` },
  plots: [],
})

/** The word for each cause. */
const ORDER: Readonly<Record<string, string>> = {
  [FIRST]: ' first',
  [AFTER_ANOTHER]: ' after another pod',
}

/** The most different ends of containers that a sentence names. */
const NAMED = 3

/** Names the pods that ended in the same way together. */
function describeFailures(pods: readonly Affected<FactName>[]): string {
  const groups = [...Map.groupBy(pods, endKey).values()]
  const [[first], ...others] = groups as [[Affected<FactName>]]
  const named = groups.slice(0, NAMED).map((own) => groupText(own, first))
  const left = others.slice(NAMED - 1).flat().length
  return [
    ...named,
    ...(left === 0 ? [] : [`${left} more ${left === 1 ? 'pod' : 'pods'} failed.`]),
    ...pods.flatMap((one) => (hasFact(one, LATER) ? [laterText(one)] : [])),
    ...pods.flatMap(({ before }) => before ?? []),
  ].join(' ')
}

function endKey(one: Affected<FactName>): string {
  const time = hasFact(one, TIME) ? factIn(one, TIME) : null
  const { finishedAt, restarted } = one.ended ?? {}
  return JSON.stringify([thingsOf(one), endText(one), finishedAt, restarted, time])
}

/** Describes pods that ended in the same way, after those of `first`. */
function groupText(own: readonly Affected<FactName>[], first: Affected<FactName>): string {
  const [one = first] = own
  const order = one === first ? (ORDER[one.cause ?? ''] ?? '') : ''
  const [time, other] = [one, first].map(({ ended }) => ended?.finishedAt ?? null)
  const isSame = one !== first && time !== null && time === other
  const same = isSame ? ' in the same second' : ''
  const after = hasFact(one, TIME) && !isSame ? `, ${factIn(one, TIME)} after the first sample` : ''
  const restarted = one.ended?.restarted === true ? ', and was restarted' : ''
  const who = capitalized(podsText(own.map(({ pod }) => pod)))
  return `${who} failed${order}${same}: ${endText(one)}${after}${restarted}.`
}

function endText(one: Affected<FactName>): string {
  return `${thingsOf(one)} ended with ${describeEnd(one.ended)}`
}

function hasFact({ facts }: Affected<FactName>, wanted: FactName): boolean {
  return facts.some(({ name }) => name === wanted)
}

function laterText(one: Affected<FactName>): string {
  const count = factIn(one, LATER)
  const others = count === '1' ? '1 other container' : `${count} other containers`
  return `Then SIGTERM or SIGKILL ended ${others}.`
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

function findFailed(pods: readonly PodEvidence[]): readonly Affected<FactName>[] {
  const all = pods.flatMap(failuresOf).sort(compareTime)
  const failures = all.filter(({ isStopped, ended }) => !isStopped || !ended.deleted)
  const [first] = failures
  if (first === undefined) return []
  const isLater = (one: Failure) => one.at !== null && compareTime(first, one) < 0
  const later = all.filter((one) => one.isStopped && isLater(one)).length
  const named = onePerPod(failures.filter((one) => !one.isStopped || !isLater(one)))
  const [leading, after] = [
    named.filter((one) => !isLater(one)),
    named.filter((one) => isLater(one) && !isOutOfMemory(one)),
  ]
  const cause = causeOf(leading, later + after.length > 0)
  if (cause !== FIRST && leading.every(isOutOfMemory)) return after.map(describeLater)
  return [
    ...leading.map((one, index) => describe(one, cause, index === 0 ? later : 0)),
    ...after.map(describeLater),
  ]
}

/** Adds to the first failure which process ended before its container did. */
function withFirstEnd(
  [first, ...others]: readonly Affected<FactName>[],
  run: RunEvidence,
): readonly Affected<FactName>[] {
  if (first === undefined) return []
  const [before] = readProgramEnds(run).flatMap((end) => {
    return end.state === 'unfinished' && end.first !== null ? [end.first] : []
  })
  return [before === undefined ? first : { ...first, before }, ...others]
}

/** Returns the first failure of each pod. */
function onePerPod(failures: readonly Failure[]): readonly Failure[] {
  return [...Map.groupBy(failures, ({ pod }) => pod).values()].flatMap((own) => own.slice(0, 1))
}

/** Returns which pod failed first, as far as that is known; undefined if only one failed. */
function causeOf(leading: readonly Failure[], hasLater: boolean): string | undefined {
  if (leading.length > 1) return UNORDERED
  return hasLater ? FIRST : undefined
}

function describeLater(failure: Failure) {
  return describe(failure, AFTER_ANOTHER)
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

/** Sorts by time. A failure without a time is not ordered before or after another one. */
function compareTime(a: Failure, b: Failure): number {
  if (a.at === null || b.at === null) return Number(a.at === null) - Number(b.at === null)
  return a.at - b.at
}

/** @param later the containers that a signal ended later, which the finding counts */
function describe(failure: Failure, cause: string | undefined, later = 0) {
  const { pod, ended, exitCode } = failure
  const isReplaced = isReplacedEnd(ended)
  const facts = listFacts(FACTS, {
    'exit code': isReplaced ? null : exitCode,
    signal: isReplaced ? null : signalIn(ended),
    [TIME]: secondsAfterFirstSample(failure),
    [LATER]: later > 0 ? later : null,
  })
  return {
    pod: pod.pod,
    things: [`container ${ended.container}`],
    lost: null,
    ...(cause === undefined ? {} : { cause }),
    ended,
    facts: facts.map((fact) => (fact.name === TIME ? { ...fact, isEndOfSecond: true } : fact)),
  }
}

/**
 * Returns the seconds from the first sample to the end of the second in which a container ended;
 * null if they are not known.
 */
function secondsAfterFirstSample({ pod, at }: Failure): number | null {
  const after = at === null || pod.began === null ? null : at + 1 - pod.began
  return after !== null && after >= 0 ? after : null
}

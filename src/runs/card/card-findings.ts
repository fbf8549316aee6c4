import { durationText } from '../../lib/duration.ts'
import { percentText } from '../../lib/round.ts'
import type { ContainerFacts } from '../facts/container-facts.ts'
import type { RunPod } from '../facts/pod-facts.ts'
import { THROTTLED, WAITING_FOR_CPU } from '../findings/cpu-rules.ts'
import { describeEnd } from '../findings/signals.ts'
import type { EndedContainer } from '../log/entry.ts'
import { bytesText, podText } from '../rules/sentence.ts'
import { TIME_FINDINGS, type TimeFinding } from '../time/time-findings.ts'
import type { PodUse } from './pod-use.ts'
import { throttledPart } from './role-card.ts'

/**
 * The names of findings in the order of their weight. Those before the ones about the time of the
 * run are rules of a report, too.
 */
export const CARD_FINDINGS = [
  'oom-killed',
  'container-failed',
  'pod-failed',
  'no-progress',
  'throttled',
  'waiting-for-cpu',
  ...TIME_FINDINGS,
] as const

/** A finding about a pod, or about the run. */
export interface CardFinding {
  readonly name: (typeof CARD_FINDINGS)[number]
  readonly severity: 'failure' | 'slowdown'
  /** Null if the finding is about the run. */
  readonly podIndex: string | null
  /** A whole sentence without the name of the pod, and without the dot: `was killed ...`. */
  readonly sentence: string
  /** The number of other pods with the same finding. */
  readonly others: number
}

type Found = Omit<CardFinding, 'others'>

/**
 * Returns the findings for which summaries and the status of pods are enough: one for each rule,
 * about the first pod that it is true of. The report has more rules, which need the rows of logs.
 */
export function findInSummaries(uses: readonly PodUse[]): readonly CardFinding[] {
  const found = uses.flatMap(findInPod)
  return CARD_FINDINGS.flatMap((name) => {
    const [first, ...others] = found.filter((one) => one.name === name)
    return first === undefined ? [] : { ...first, others: others.length }
  })
}

function findInPod(use: PodUse): readonly Found[] {
  const failures = use.pods.flatMap((pod, index) => {
    return findFailures(use, pod, index < use.pods.length - 1)
  })
  return [...failures, ...findThrottled(use), ...findWaiting(use)]
}

const OUT_OF_MEMORY = 'OOMKilled'

function findFailures(use: PodUse, pod: RunPod, isRetried: boolean): readonly Found[] {
  const again = isRetried ? ', and was tried again' : ''
  const failure = { severity: 'failure', podIndex: use.name } as const
  const killed = pod.containers.filter(isKilledByMemory).map((container) => {
    const sentence = `had container ${container.name} killed: memory ran out${limitText(container)}`
    return { name: 'oom-killed', ...failure, sentence: `${sentence}${again}` } as const
  })
  const failed = pod.containers.flatMap(({ name, ended }) => {
    return ended
      .filter((end) => isFailure(end) && !isByDeletion(pod, end))
      .map((end) => {
        const restarted = end.restarted ? ', and was restarted' : again
        const sentence = `failed: container ${name} ended with ${describeEnd(end)}${restarted}`
        return { name: 'container-failed', ...failure, sentence } as const
      })
  })
  const isOther = pod.phase === 'Failed' && !pod.wasDeleted && killed.length + failed.length === 0
  const reason = pod.reason ?? 'the status of the pod gives no reason'
  const sentence = `failed: ${reason}${again}`
  return [
    ...killed,
    ...failed,
    ...(isOther ? [{ name: 'pod-failed', ...failure, sentence } as const] : []),
  ]
}

function isKilledByMemory({ ended, use }: ContainerFacts): boolean {
  return ended.some(({ reason }) => reason === OUT_OF_MEMORY) || (use?.oomKills ?? 0) > 0
}

function isFailure({ exitCode, reason }: EndedContainer): boolean {
  return exitCode !== null && exitCode !== 0 && reason !== OUT_OF_MEMORY
}

/** Reports whether a container ended because the deletion of its pod was requested. */
function isByDeletion({ wasDeleted }: RunPod, { restarted }: EndedContainer): boolean {
  return wasDeleted && !restarted
}

function limitText({ limits, use }: ContainerFacts): string {
  const limit = limits.memory ?? use?.memoryLimit ?? null
  return limit === null ? '' : ` (limit ${bytesText(limit)})`
}

function findThrottled(use: PodUse): readonly Found[] {
  const part = throttledPart(use)
  if (!isThrottled(part)) return []
  const time = use.throttled === null ? '' : `, for ${durationText(use.throttled)}`
  const sentence = `used up its CPU limit in ${percentText(part ?? 0)} of the periods${time}`
  return [{ name: 'throttled', severity: 'slowdown', podIndex: use.name, sentence }]
}

/** Reports whether the part of throttled periods is that of the rule `throttled`. */
export function isThrottled(part: number | null): boolean {
  return part !== null && part * 100 >= THROTTLED.threshold.value
}

/**
 * A pod waited if its threads waited for at least as large a part of the time in which they could
 * run as the rule `waiting-for-cpu` needs. Throttling counts as waiting, and is named on its own.
 */
function findWaiting(use: PodUse): readonly Found[] {
  const { cpu, runDelay } = use
  if (cpu === null || runDelay === null || cpu + runDelay <= 0) return []
  if (isThrottled(throttledPart(use))) return []
  const part = runDelay / (cpu + runDelay)
  if (part * 100 < WAITING_FOR_CPU.threshold.value) return []
  const time = `${percentText(part)} of the time in which it could run`
  const sentence = `waited for a processor in ${time}`
  return [{ name: 'waiting-for-cpu', severity: 'slowdown', podIndex: use.name, sentence }]
}

/**
 * Adds the finding that a run makes no progress, which needs the rows of logs.
 *
 * @param sentence what is known about it, without a dot at its end
 */
export function addNoProgress(
  findings: readonly CardFinding[],
  sentence: string,
): readonly CardFinding[] {
  const [failures, others] = [
    findings.filter(({ severity }) => severity === 'failure'),
    findings.filter(({ severity }) => severity !== 'failure'),
  ]
  const found = {
    name: 'no-progress',
    severity: 'failure',
    podIndex: null,
    sentence,
    others: 0,
  } as const
  return [...failures, found, ...others]
}

/** Returns a finding about the time of the run as one of its card. */
export function aboutTime({ name, sentence }: TimeFinding): CardFinding {
  return { name, severity: 'slowdown', podIndex: null, sentence, others: 0 }
}

/** Returns a finding as a sentence: `pod 1 (and 2 more) failed: ...`. */
export function findingText({ sentence, ...subject }: CardFinding): string {
  return `${findingPrefix(subject)}${sentence}`
}

/** Returns the subject of the sentence about a finding, and a space: `pod 1 (and 2 more) `. */
export function findingPrefix({
  podIndex,
  others,
}: Pick<CardFinding, 'podIndex' | 'others'>): string {
  if (podIndex === null) return ''
  const more = others === 0 ? '' : ` (and ${others} more)`
  return `${podText(podIndex)}${more} `
}

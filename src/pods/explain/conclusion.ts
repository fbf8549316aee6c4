import { type Decision, type Denied, type Left, leftIn } from '../../core/decision.ts'
import { STATUS_KEY } from '../../core/keys.ts'
import { REASONS, type Reason } from '../../core/reasons.ts'
import type { PodReview } from '../../core/review-pod.ts'
import { describeLacked, type LackedMetric } from '../../core/status.ts'
import type { Cause } from './causes.ts'
import type { Facts } from './facts.ts'
import type { Finding } from './finding.ts'
import { type InjectionOutcome, NO_CATALOG } from './injection-outcome.ts'

/** The facts and findings that determine the conclusion. */
export interface ConclusionFacts {
  readonly facts: Facts
  readonly out: InjectionOutcome | undefined
  /** The observers in the manifest of a pod that has not been created yet. */
  readonly carried: InjectionOutcome | undefined
  readonly answer: PodReview
  readonly asked: readonly Finding[]
  readonly rules: readonly Finding[]
  /** Whether the observers depend on the index of each pod of a template. */
  readonly isPerPod: boolean
}

/** The last part of an explanation: the outcome, and one sentence. */
export interface Conclusion {
  /**
   * `unverified`: the annotation `ridealong.dev/status` says that the pod was injected, but a
   * container differs from the catalog's observer.
   */
  readonly outcome: 'injected' | 'unverified' | 'left' | 'denied'
  readonly reason?: Reason | Cause
  /** The requested metrics that an injected pod lacks, if there are any. */
  readonly left?: readonly LackedMetric[]
  readonly conclusion: string
}

/**
 * Returns the conclusion about the created pod if there is one, otherwise about the pod that would
 * be created.
 */
export function conclude(known: ConclusionFacts): Conclusion {
  const { out } = known
  switch (out?.outcome) {
    case undefined:
      return foretold(known)
    case 'injected':
      return { outcome: 'injected', ...withLeft(out.left), conclusion: wasInjected(out) }
    case 'unverified':
      return unverified(out)
    case 'altered': {
      const problems = out.problems.join('; ')
      const what = out.hasStatus
        ? 'The pod was injected, but then its observers changed'
        : `The pod has ${out.metrics.join(', ')}, which cannot observe it`
      return left('altered', `${what}: ${problems}.`)
    }
    case 'left':
      return left(out.reason, `${WITHOUT}: ${out.message}.`)
    case 'silent':
      return silent(known)
  }
}

const WITHOUT = 'The pod was created without observers'

type InjectedOutcome = Extract<InjectionOutcome, { outcome: 'injected' }>
type UnverifiedOutcome = Extract<InjectionOutcome, { outcome: 'unverified' }>

/** Returns the sentence about observers that are not verified, with the reason. */
function notVerified(out: InjectedOutcome | UnverifiedOutcome, problem: string): string {
  const names = out.metrics.join(', ')
  const claim = out.hasStatus
    ? `The annotation ${STATUS_KEY} says that the pod was injected with ${names}`
    : `The pod has ${names}`
  return `${claim}, but this is not verified: ${problem}.`
}

function wasInjected(out: InjectedOutcome): string {
  if (!out.isCompared) return notVerified(out, NO_CATALOG)
  const names = out.metrics.join(', ')
  return out.hasStatus
    ? `The pod was injected with ${names}${lacking(out.left)}.`
    : `The pod has ${names}, but no annotation ${STATUS_KEY}, like a copy by kubectl debug.`
}

function unverified(out: UnverifiedOutcome): Conclusion {
  const conclusion = notVerified(out, out.differences.join('; '))
  return { outcome: 'unverified', reason: 'observer-differs', conclusion }
}

function left(reason: Reason | Cause, conclusion: string): Conclusion {
  return { outcome: 'left', reason, conclusion }
}

const UNANSWERED =
  'The pod requests observers, but the webhook did not answer when the pod was created'

/** Returns the conclusion about a pod that was created and has no valid status annotation. */
function silent({ answer: { decision }, asked }: ConclusionFacts): Conclusion {
  if ('reason' in decision && leavesNoStatus(decision.reason))
    return left(decision.reason, `${WITHOUT}: ${decision.message}.`)
  const obstacle = firstStop(asked)
  if (obstacle === undefined) return left('webhook-away', `${UNANSWERED}.`)
  if (obstacle.reason === 'annotated-later')
    return left(obstacle.reason, `${WITHOUT}: ${obstacle.sentence}.`)
  return left(obstacle.reason, `${UNANSWERED}: ${obstacle.sentence}.`)
}

/**
 * Reports whether the reason explains why a pod has no status: the pod would get no observers in
 * any case, or the webhook could not write that it left a pod which it may deny.
 */
function leavesNoStatus(reason: Reason): boolean {
  const { isRegardless = false, canDeny, written } = REASONS[reason]
  return isRegardless || (canDeny && !written)
}

/** Returns the conclusion about a pod that has not been created yet. */
function foretold(known: ConclusionFacts): Conclusion {
  return carriedConclusion(known) ?? answered(known)
}

/**
 * Reports whether the pod's manifest contains observers from `ridealong inject` and the webhook
 * adds none.
 */
export function isCarrying({
  carried,
  answer: { decision },
}: Pick<ConclusionFacts, 'carried' | 'answer'>) {
  const isLeft = 'reason' in decision && REASONS[decision.reason].keepsManifestObservers === true
  return (
    carried !== undefined && carried.outcome !== 'silent' && carried.outcome !== 'left' && isLeft
  )
}

function carriedConclusion(known: ConclusionFacts): Conclusion | undefined {
  const { carried, answer } = known
  if ('reason' in answer.decision && answer.decision.reason === 'observer-differs') {
    const conclusion = `The pod would not be changed: ${answer.decision.message}.`
    return { outcome: 'unverified', reason: 'observer-differs', conclusion }
  }
  if (carried === undefined || !isCarrying(known)) return undefined
  switch (carried.outcome) {
    case 'silent':
    case 'left':
      return undefined
    case 'unverified':
      return unverified(carried)
    case 'altered':
      return left(
        'altered',
        `The manifest's observers were changed: ${carried.problems.join('; ')}.`,
      )
    case 'injected':
      return alreadyInjected(carried, `${carried.metrics.join(', ')} from its manifest`)
  }
}

/** Returns the conclusion about a pod whose manifest contains its observers. */
function alreadyInjected(carried: InjectionOutcome | undefined, observers: string): Conclusion {
  const metrics = carried?.outcome === 'injected' ? carried.left : []
  const conclusion = `The webhook adds nothing: the pod has ${observers}${lacking(metrics)}.`
  return { outcome: 'injected', ...withLeft(metrics), conclusion }
}

function answered(known: ConclusionFacts): Conclusion {
  const { facts, carried, asked, isPerPod } = known
  const { decision } = known.answer
  const regardless = 'reason' in decision && REASONS[decision.reason].isRegardless === true
  const obstacle = regardless || isThere(decision) ? undefined : firstStop(asked)
  if (obstacle !== undefined) {
    return left(
      obstacle.reason,
      `The pod would be created without observers: ${obstacle.sentence}.`,
    )
  }
  if (isThere(decision)) return alreadyInjected(carried, 'its observers')
  if ('reason' in decision) return leftOrDenied(decision)
  if (facts.admission?.outcome === 'denied') {
    const { message } = facts.admission
    const conclusion = `The pod would be denied because of its observers: ${message}.`
    return { outcome: 'denied', reason: 'admission-policy', conclusion }
  }
  return {
    outcome: 'injected',
    ...withLeft(leftIn(decision)),
    conclusion: injectedSentence(decision, facts, isPerPod),
  }
}

function leftOrDenied({ outcome, reason, message }: Left | Denied): Conclusion {
  return outcome === 'denied'
    ? { outcome: 'denied', reason, conclusion: `The pod would be denied: ${message}.` }
    : left(reason, `The pod would be created without observers: ${message}.`)
}

function isThere(decision: Decision): boolean {
  const isWhole = 'reason' in decision && decision.reason === 'already-injected'
  return isWhole || decision.outcome === 'restored'
}

function injectedSentence(decision: Decision, { webhook }: Facts, isPerPod: boolean): string {
  const names = 'observers' in decision ? decision.observers.map(({ metric }) => metric.name) : []
  const without = lacking(leftIn(decision))
  const where = webhook === undefined ? ' if the webhook is called' : ''
  const which = isPerPod ? ', depending on its index' : ''
  return `The pod would be injected with ${names.join(', ')}${where}${which}${without}.`
}

function withLeft(left: readonly LackedMetric[]): Pick<Conclusion, 'left'> {
  return left.length === 0 ? {} : { left }
}

/** Returns the end of a sentence about an injected pod, if it lacks requested metrics. */
function lacking(left: readonly LackedMetric[]): string {
  return left.map((each) => `, ${describeLacked(each)}`).join('')
}

function firstStop(findings: readonly Finding[]) {
  return findings.find((finding) => finding.verdict === 'no')
}

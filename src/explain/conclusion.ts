import type { Decision } from '../core/decision.ts'
import type { Reason } from '../core/reasons.ts'
import type { PodReview } from '../core/review-pod.ts'
import type { Cause } from './causes.ts'
import type { Facts } from './facts.ts'
import type { Finding } from './finding.ts'
import { type InjectionOutcome, NO_CATALOG } from './injection-outcome.ts'

/** The facts and findings from which the conclusion is drawn. */
export interface ConclusionFacts {
  readonly facts: Facts
  readonly out: InjectionOutcome | undefined
  /** The observers in the manifest of a pod that has not been created yet. */
  readonly carried: InjectionOutcome | undefined
  readonly answer: PodReview
  readonly asked: readonly Finding[]
  readonly rules: readonly Finding[]
}

/** The last part of an explanation: the outcome, and one sentence. */
export interface Conclusion {
  /** `unverified`: the pod's status says injected, but its containers differ from the catalog's. */
  readonly outcome: 'injected' | 'unverified' | 'left' | 'refused'
  readonly reason?: Reason | Cause
  readonly conclusion: string
}

/** Reasons for which a pod is skipped whether or not the webhook is called. */
const REGARDLESS: ReadonlySet<string> = new Set<Reason>([
  'not-create',
  'excluded-namespace',
  'invalid-pod',
  'mirror-pod',
  'opted-out',
  'not-asked',
])

/**
 * Draws the conclusion about the created pod if there is one, otherwise about the pod that would be
 * created.
 */
export function conclude(known: ConclusionFacts): Conclusion {
  const { out } = known
  if (out?.outcome === 'injected') {
    return { outcome: 'injected', conclusion: wasInjected(out) }
  }
  if (out?.outcome === 'unverified') return unverified(out)
  if (out?.outcome === 'altered') {
    return left(
      'altered',
      `The pod's status says injected, but its observers are not as they were added: ${out.problems.join('; ')}.`,
    )
  }
  if (out?.outcome === 'left') return left(out.reason, `The pod was left: ${out.message}.`)
  return out === undefined ? foretold(known) : silent(known)
}

function wasInjected({
  metrics,
  isCompared,
}: Extract<InjectionOutcome, { outcome: 'injected' }>): string {
  const names = metrics.join(', ')
  return isCompared
    ? `The pod was injected with ${names}.`
    : `The pod's status says that it was injected with ${names}, which was not compared with a catalog: ${NO_CATALOG}.`
}

function unverified({
  metrics,
  differences,
}: Extract<InjectionOutcome, { outcome: 'unverified' }>): Conclusion {
  const names = metrics.join(', ')
  const conclusion = `The pod's status says injected with ${names}, which is not verified: ${differences.join('; ')}.`
  return { outcome: 'unverified', reason: 'observer-differs', conclusion }
}

function left(reason: Reason | Cause, conclusion: string): Conclusion {
  return { outcome: 'left', reason, conclusion }
}

/** Concludes for a pod that was created and has no status. */
function silent({ answer: { decision }, asked }: ConclusionFacts): Conclusion {
  const word = 'reason' in decision ? decision.reason : undefined
  if (word !== undefined && (REGARDLESS.has(word) || word === 'too-large')) {
    return left(word, `The pod was left: ${'message' in decision ? decision.message : word}.`)
  }
  const obstacle = firstStop(asked)
  const unanswered = 'The pod asked, and the webhook gave no answer when it was created'
  if (obstacle === undefined) return left('webhook-away', `${unanswered}.`)
  if (obstacle.reason === 'annotated-later')
    return left(obstacle.reason, `The pod was left: ${obstacle.sentence}.`)
  return left(obstacle.reason, `${unanswered}: ${obstacle.sentence}.`)
}

/** Concludes for a pod that has not been created yet. */
function foretold(known: ConclusionFacts): Conclusion {
  return carriedConclusion(known) ?? answered(known)
}

/** Reasons for which the webhook skips a pod that has observers in its manifest. */
const LEFT_ALONE: ReadonlySet<string> = new Set<Reason>([
  'not-asked',
  'opted-out',
  'excluded-namespace',
])

/**
 * Reports whether the pod's manifest contains observers from `ridealong inject` and the webhook
 * adds none.
 */
export function isCarrying({
  carried,
  answer: { decision },
}: Pick<ConclusionFacts, 'carried' | 'answer'>) {
  const isLeft = 'reason' in decision && LEFT_ALONE.has(decision.reason)
  return (
    carried !== undefined && carried.outcome !== 'silent' && carried.outcome !== 'left' && isLeft
  )
}

function carriedConclusion(known: ConclusionFacts): Conclusion | undefined {
  const { carried, answer } = known
  if ('reason' in answer.decision && answer.decision.reason === 'observer-differs') {
    const conclusion = `The pod would be left as it is: ${answer.decision.message}.`
    return { outcome: 'unverified', reason: 'observer-differs', conclusion }
  }
  if (carried === undefined || !isCarrying(known)) return undefined
  if (carried.outcome === 'unverified') return unverified(carried)
  if (carried.outcome === 'altered')
    return left('altered', `The manifest's observers are altered: ${carried.problems.join('; ')}.`)
  if (carried.outcome !== 'injected') return undefined
  const names = carried.metrics.join(', ')
  const conclusion = `The pod carries ${names} already, from its manifest, and the webhook adds nothing.`
  return { outcome: 'injected', conclusion }
}

function answered({ facts, answer: { decision }, asked }: ConclusionFacts): Conclusion {
  const regardless = 'reason' in decision && REGARDLESS.has(decision.reason)
  const obstacle = regardless || isThere(decision) ? undefined : firstStop(asked)
  if (obstacle !== undefined) {
    return left(obstacle.reason, `The pod would be left: ${obstacle.sentence}.`)
  }
  if (isThere(decision)) {
    return { outcome: 'injected', conclusion: 'The pod carries its observers already.' }
  }
  if ('reason' in decision) {
    const word = decision.outcome === 'denied' ? 'refused' : 'left'
    const conclusion = `The pod would be ${word}: ${decision.message}.`
    return { outcome: word, reason: decision.reason, conclusion }
  }
  return { outcome: 'injected', conclusion: injectedSentence(decision, facts) }
}

function isThere(decision: Decision): boolean {
  const isWhole = 'reason' in decision && decision.reason === 'already-injected'
  return isWhole || decision.outcome === 'restored'
}

function injectedSentence(decision: Decision, { webhook }: Facts): string {
  const names = 'observers' in decision ? decision.observers.map(({ metric }) => metric.name) : []
  const where = webhook === undefined ? ' where the webhook is asked' : ''
  return `The pod would be injected with ${names.join(', ')}${where}.`
}

function firstStop(findings: readonly Finding[]) {
  return findings.find((finding) => finding.verdict === 'no')
}

import type { PodAnswer } from '../core/answer.ts'
import type { Decision } from '../core/decision.ts'
import type { Reason } from '../core/reasons.ts'
import type { CameOut } from './came-out.ts'
import type { Cause } from './causes.ts'
import type { Facts } from './facts.ts'
import type { Finding } from './finding.ts'

/** All that has been found out. */
export interface Known {
  readonly facts: Facts
  readonly out: CameOut | undefined
  readonly answer: PodAnswer
  readonly asked: readonly Finding[]
  readonly rules: readonly Finding[]
}

/** The end of an explanation: what came out, and the one sentence. */
export interface Conclusion {
  readonly outcome: 'injected' | 'left' | 'refused'
  readonly reason?: Reason | Cause
  readonly conclusion: string
}

/** Reasons for which a pod is left whether or not a webhook is there to say so. */
const REGARDLESS: ReadonlySet<string> = new Set<Reason>([
  'not-create',
  'excluded-namespace',
  'invalid-pod',
  'mirror-pod',
  'opted-out',
  'not-asked',
])

/** Draws the conclusion: of the pod that is there, else of the one that would come. */
export function conclusionOf(known: Known): Conclusion {
  const { out } = known
  if (out?.outcome === 'injected') {
    return {
      outcome: 'injected',
      conclusion: `The pod was injected with ${out.metrics.join(', ')}.`,
    }
  }
  if (out?.outcome === 'altered') {
    return left('altered', `The pod was injected, and altered since: ${out.problems.join('; ')}.`)
  }
  if (out?.outcome === 'left') return left(out.reason, `The pod was left: ${out.message}.`)
  return out === undefined ? foretold(known) : silent(known)
}

function left(reason: Reason | Cause, conclusion: string): Conclusion {
  return { outcome: 'left', reason, conclusion }
}

/** The pod is there and says nothing. */
function silent({ answer: { decision }, asked }: Known): Conclusion {
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

/** The pod is still to come. */
function foretold({ facts, answer: { decision }, asked }: Known): Conclusion {
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

import { KEYS } from '../core/keys.ts'
import { asFields, asText, type Fields, fieldsOrNone, listOrNone } from '../core/kubernetes/json.ts'
import { requestedAtCreation } from '../core/missed/requested-at-creation.ts'
import type { Reason } from '../core/reasons.ts'
import { readAnnotations, readRequest } from '../core/request.ts'
import { leavesItToNamespace, type Review } from '../core/review.ts'
import { type PodReview, reviewPod } from '../core/review-pod.ts'
import { type Cause, findRemedy } from './causes.ts'
import { type Conclusion, conclude, isCarrying } from './conclusion.ts'
import { type Cost, computeCost } from './cost.ts'
import type { Facts } from './facts.ts'
import { type Finding, find, stop } from './finding.ts'
import { cameOut, comparable, createdFindings, type InjectionOutcome } from './injection-outcome.ts'
import { asItCame } from './original-pod.ts'
import { ruleFindings, type Stopped, stoppedBy } from './rule-findings.ts'
import { webhookFindings } from './webhook-findings.ts'

/** Why a pod has observers, or has none. */
export interface Explanation {
  readonly subject: string
  readonly namespace: string
  readonly outcome: 'injected' | 'unverified' | 'left' | 'refused'
  readonly reason?: Reason | Cause
  readonly findings: readonly Finding[]
  readonly cost?: Cost
  /** One sentence, and what to do. */
  readonly conclusion: string
  readonly remedy?: string
}

/** Explains a pod from what is known: every rule in order, and what came of it. The same facts give the same answer. */
export function explain(facts: Facts): Explanation {
  const out = facts.created && cameOutOf(facts, facts.created)
  const carried = facts.created ? undefined : cameOutOf(facts, fieldsOrNone(facts.review.object))
  const answer = reviewPod(cameAs(facts), settingsFor(facts))
  const stopped = stoppedThen(out, answer)
  const asked = webhookPart(facts, answer)
  const knowsImages = out?.outcome === 'injected' || settingsFor(facts).heldImages !== undefined
  const rules = ruleFindings(
    stopped,
    resolveRequest(facts),
    knowsImages,
    isCarrying({ carried, answer }),
  )
  const created = facts.created
    ? createdFindings(facts.created, out ?? { outcome: 'silent' }, facts.settings.catalog)
    : []
  const conclusion = conclude({ facts, out, carried, answer, asked, rules })
  return {
    subject: facts.subject,
    namespace: facts.review.namespace,
    ...conclusion,
    findings: [...aside(facts), ...asked, ...rules, ...created, ...nowFinding(out, answer)],
    ...ending(conclusion, costIn(facts, out ?? carried, answer)),
  }
}

/** What observers cost where there are any, and what to do where there are none. */
function ending({ outcome, reason }: Conclusion, cost: Cost | undefined) {
  return {
    ...(outcome === 'injected' && cost && { cost }),
    ...(reason && { remedy: findRemedy(reason) }),
  }
}

/** What is to be known before the rules. */
function aside({ differences, unread }: Facts): readonly Finding[] {
  const ranks = differences === undefined ? [] : [find('ranks', 'look', differences)]
  return [...ranks, ...unread.map((sentence) => find('namespace', 'unknown', sentence))]
}

/** The creation as it came, whatever has been added since. */
function cameAs({ review, created }: Facts): Review {
  return created === undefined ? review : { ...review, object: asItCame(created) }
}

/** Of a pod that is there, what nodes hold now says nothing, and a quota counts it already. */
function settingsFor({ settings, created }: Facts): Facts['settings'] {
  if (created === undefined) return settings
  const namespace = { ...settings.namespace, quotas: [] }
  return { ...settings, namespace, heldImages: undefined }
}

function stoppedThen(
  out: InjectionOutcome | undefined,
  { decision }: PodReview,
): Stopped | undefined {
  if (out?.outcome === 'left') return out
  return out === undefined || out.outcome === 'silent' ? stoppedBy(decision) : undefined
}

function resolveRequest({ review, settings }: Facts) {
  const own = asFields(fieldsOrNone(fieldsOrNone(review.object).metadata).annotations)
  return readRequest(readAnnotations(own), settings.namespace.annotations, settings.catalog)
}

/** What lies before the webhook's own decision: whether it was, or would be, asked. */
function webhookPart(facts: Facts, { decision }: PodReview): readonly Finding[] {
  const { webhook, review, namespace, created } = facts
  if (webhook === undefined) return [find('cluster', 'unknown', 'none was asked')]
  const asksItself = !leavesItToNamespace(review)
  const labels = fieldsOrNone(fieldsOrNone(fieldsOrNone(review.object).metadata).labels)
  const caller = { asksItself, labels, namespace }
  const isAsking = !('reason' in decision && decision.reason === 'not-asked')
  const isLater = isAsking && created && isAskedLater(facts, created, asksItself)
  const whose = asksItself ? 'the pod' : 'the namespace'
  const later = `${whose} was given ${KEYS.inject} only after the pod was created`
  return [
    ...(isLater ? [stop('annotated', 'annotated-later', later)] : []),
    ...webhookFindings(webhook, caller),
  ]
}

/** Whether the pod, or the namespace that asks for it, was annotated only after the pod was created. */
function isAskedLater({ settings }: Facts, created: Fields, asksItself: boolean): boolean {
  if (asksItself) return !requestedAtCreation(created)
  const { requestedSince } = settings.namespace
  const then = asText(fieldsOrNone(created.metadata).creationTimestamp)
  return requestedSince !== undefined && then !== undefined && requestedSince > then
}

/** What would become of a pod now that was left then. */
function nowFinding(
  out: InjectionOutcome | undefined,
  { decision }: PodReview,
): readonly Finding[] {
  if (out?.outcome !== 'left') return []
  const isSame = 'reason' in decision && decision.reason === out.reason
  if (isSame) return []
  const word = 'reason' in decision ? `${decision.outcome}: ${decision.message}` : 'injected'
  return [find('created again now', 'look', `it would be ${word}`)]
}

/** What became of a pod that is there, or what one that is still to come brings along of observers. */
function cameOutOf({ settings, isCatalogGuessed }: Facts, pod: Fields): InjectionOutcome {
  return cameOut(pod, comparable(settings.catalog, isCatalogGuessed === true, pod))
}

function costIn(
  { created, review, pods }: Facts,
  out: InjectionOutcome | undefined,
  { decision }: PodReview,
) {
  const carrier = created ?? (decision.outcome === 'injected' ? undefined : review.object)
  if (carrier !== undefined && out?.outcome === 'injected') {
    const { initContainers, containers } = fieldsOrNone(fieldsOrNone(carrier).spec)
    const all = [...listOrNone(initContainers), ...listOrNone(containers)].map(fieldsOrNone)
    const ours = all.filter(({ name }) => out.metrics.some((metric) => metric === name))
    return computeCost(
      ours.map(({ resources }: Fields) => resources),
      pods,
    )
  }
  if (decision.outcome !== 'injected') return undefined
  return computeCost(
    decision.observers.map(({ resources }) => resources),
    pods,
  )
}

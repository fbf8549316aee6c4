import type { Decision, Denied, Left } from '../../core/decision.ts'
import { KEYS } from '../../core/keys.ts'
import { asObjects, asText, type Fields, fieldsOrNone } from '../../core/kubernetes/json.ts'
import { requestedAtCreation } from '../../core/missed/requested-at-creation.ts'
import type { Reason } from '../../core/reasons.ts'
import { leavesItToNamespace } from '../../core/review.ts'
import type { PodReview, Settings } from '../../core/review-pod.ts'
import { isInstaller } from '../../core/rules/original-pod.ts'
import type { LackedMetric } from '../../core/status.ts'
import { isToolVolume } from '../../core/tools/added-volumes.ts'
import { toolVolumes } from '../../core/tools/additions.ts'
import { admissionFinding } from './admission.ts'
import { answerFor } from './answer.ts'
import { type Cause, findRemedy } from './causes.ts'
import { type Conclusion, conclude, isCarrying } from './conclusion.ts'
import { type AddedResources, type Cost, computeCost } from './cost.ts'
import { countersFinding } from './counters-finding.ts'
import type { Facts, UncheckedRules } from './facts.ts'
import { type Finding, find, stop } from './finding.ts'
import { cameOut, comparable, createdFindings, type InjectionOutcome } from './injection-outcome.ts'
import { listMisspeltKeys } from './mistaken-keys.ts'
import { ruleFindings, type Stopped, stoppedBy } from './rule-findings.ts'
import { toolFindings } from './tool-findings.ts'
import { webhookFindings } from './webhook-findings.ts'
import { workloadFindings } from './workload-findings.ts'

/** The explanation why a pod has observers or has none. */
export interface Explanation {
  readonly subject: string
  readonly namespace: string
  readonly outcome: 'injected' | 'unverified' | 'left' | 'denied'
  readonly reason?: Reason | Cause
  /** The requested metrics that an injected pod lacks, if there are any. */
  readonly left?: readonly LackedMetric[]
  readonly findings: readonly Finding[]
  readonly cost?: Cost
  /** One sentence. */
  readonly conclusion: string
  readonly remedy?: string
}

/**
 * Explains a pod with the result of every rule in order, and the conclusion. The same facts always
 * give the same explanation.
 */
export function explain(given: Facts): Explanation {
  const { facts, request, isPerPod, settings, reviewed } = answerFor(given)
  const { answer, mistakes } = separateMistakes(reviewed, listMistakes(facts))
  const out = facts.created && cameOutOf(facts, facts.created)
  const carried = facts.created ? undefined : cameOutOf(facts, fieldsOrNone(facts.review.object))
  const stopped = stoppedThen(out, answer)
  const asked = webhookPart(facts, answer)
  const rules = ruleFindings(stopped, {
    request,
    decision: answer.decision,
    unchecked: out === undefined || out.outcome === 'silent' ? listUnchecked(facts, settings) : {},
    isCarrying: isCarrying({ carried, answer }),
    dependsOnPod: isPerPod,
  })
  const created = facts.created
    ? createdFindings(facts.created, out ?? { outcome: 'silent' }, facts.settings.catalog)
    : []
  const conclusion = conclude({ facts, out, carried, answer, asked, rules, isPerPod })
  return {
    subject: facts.subject,
    namespace: facts.review.namespace,
    ...conclusion,
    findings: [
      ...aside(facts),
      ...mistakes.map((sentence) => find('keys', 'look', sentence)),
      ...asked,
      ...rules,
      ...created,
      ...countersFinding(answer.decision, out),
      ...toolFindings(answer.decision, out),
      ...workloadFindings(facts, answer.decision, out),
      ...admissionFinding(facts),
      ...nowFinding(out, answer),
    ],
    ...ending(conclusion, costIn(facts, out ?? carried, answer)),
  }
}

/** Returns a sentence for each annotation or label of Ridealong that has no effect. */
function listMistakes({ review, namespace, misplaced = [] }: Facts): readonly string[] {
  const object = 'value' in namespace ? namespace.value : undefined
  return [
    ...misplaced,
    ...listMisspeltKeys(fieldsOrNone(fieldsOrNone(review.object).metadata), 'the pod'),
    ...listMisspeltKeys(fieldsOrNone(object?.metadata), 'the namespace'),
  ]
}

/**
 * Adds the mistakes to the reason if the pod requests no metric, because they are the likely cause.
 *
 * @returns the answer, and the mistakes that are not the cause
 */
function separateMistakes(answer: PodReview, mistakes: readonly string[]) {
  const { decision } = answer
  if (!isNotAsked(decision)) return { answer, mistakes }
  const message = [decision.message, ...mistakes].join('; ')
  return { answer: { ...answer, decision: { ...decision, message } }, mistakes: [] }
}

function isNotAsked(decision: Decision): decision is Left | Denied {
  return 'reason' in decision && decision.reason === 'not-asked'
}

/** Returns the cost if the outcome is `injected`, and the remedies of all reasons. */
function ending({ outcome, reason, left = [] }: Conclusion, cost: Cost | undefined) {
  const reasons = reason === undefined ? left.map((each) => each.reason) : [reason]
  const remedies = new Set(reasons.map(findRemedy))
  return {
    ...(outcome === 'injected' && cost && { cost }),
    ...(remedies.size > 0 && { remedy: [...remedies].join('; ') }),
  }
}

/**
 * Returns the findings that precede the rules: a pod that is not fully known, pods of the workload
 * that differ, and a namespace that could not be read.
 */
function aside({ differences, namespace, isAssumed }: Facts): readonly Finding[] {
  const pods = differences === undefined ? [] : [find('pods', 'look', differences)]
  const pod = isAssumed === true ? [find('pod', 'unknown', ASSUMED)] : []
  const place = 'problem' in namespace ? [find('namespace', 'unknown', namespace.problem)] : []
  return [...pod, ...pods, ...place]
}

const ASSUMED =
  'its operator builds the pod, and not all of its containers and fields are known before it exists'

/**
 * Returns the rules that the review of a pod could not check. The webhook has checked the rules for
 * a pod for which it wrote an outcome.
 */
function listUnchecked({ unchecked }: Facts, { heldImages }: Settings): UncheckedRules {
  return heldImages === undefined
    ? { ...unchecked, image: 'it is not known which nodes have the image' }
    : unchecked
}

function stoppedThen(
  out: InjectionOutcome | undefined,
  { decision }: PodReview,
): Stopped | undefined {
  if (out?.outcome === 'left') return out
  return out === undefined || out.outcome === 'silent' ? stoppedBy(decision) : undefined
}

/**
 * Returns the findings about the steps before the webhook's decision: whether the apiserver called
 * the webhook, or would call it.
 */
function webhookPart(facts: Facts, { decision }: PodReview): readonly Finding[] {
  const { webhook, review, namespace, created } = facts
  if (webhook === undefined) return [find('cluster', 'unknown', 'no cluster was queried')]
  const asksItself = !leavesItToNamespace(review)
  const labels = fieldsOrNone(fieldsOrNone(fieldsOrNone(review.object).metadata).labels)
  const caller = { asksItself, labels, namespace }
  const isLater = !isNotAsked(decision) && created && isAskedLater(facts, created, asksItself)
  const whose = asksItself ? 'the pod' : 'the namespace'
  const later = `${whose} got the annotation ${KEYS.inject} only after the pod was created`
  return [
    ...(isLater ? [stop('annotated', 'annotated-later', later)] : []),
    ...webhookFindings(webhook, caller),
  ]
}

/**
 * Reports whether the pod, or the namespace that requests its observers, was annotated only after
 * the pod was created.
 */
function isAskedLater({ settings }: Facts, created: Fields, asksItself: boolean): boolean {
  if (asksItself) return !requestedAtCreation(created)
  const { requestedSince } = settings.namespace
  const then = asText(fieldsOrNone(created.metadata).creationTimestamp)
  return requestedSince !== undefined && then !== undefined && requestedSince > then
}

/**
 * Returns a finding about the decision that a pod which was created without observers would get
 * now, if this decision differs from the recorded decision.
 */
function nowFinding(
  out: InjectionOutcome | undefined,
  { decision }: PodReview,
): readonly Finding[] {
  if (out?.outcome !== 'left') return []
  const isSame = 'reason' in decision && decision.reason === out.reason
  if (isSame) return []
  return [find('created again now', 'look', `the pod would be ${resultNow(decision)}`)]
}

function resultNow(decision: Decision): string {
  if (!('reason' in decision)) return 'injected'
  const result = decision.outcome === 'denied' ? 'denied' : 'created without observers'
  return `${result}: ${decision.message}`
}

/** Reads the outcome of a created pod, or the observers in the manifest of a pod to be created. */
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
    return computeCost(addedTo(fieldsOrNone(carrier), out.metrics), pods)
  }
  if (decision.outcome !== 'injected') return undefined
  const { observers } = decision
  const installers = observers.flatMap(({ installer }) => installer?.resources ?? [])
  return computeCost(
    {
      observers: observers.map(({ resources }) => resources),
      installers,
      volumes: toolVolumes(observers, ''),
    },
    pods,
  )
}

/** Returns the additions that a pod already has. */
function addedTo(pod: Fields, metrics: readonly string[]): AddedResources {
  const { initContainers, containers, volumes } = fieldsOrNone(pod.spec)
  const all = [...asObjects(initContainers), ...asObjects(containers)]
  const observers = all.filter(({ name }) => metrics.some((metric) => metric === name))
  const mounted = new Set(
    observers.flatMap(({ volumeMounts }) => asObjects(volumeMounts).map(({ name }) => name)),
  )
  return {
    observers: observers.map(({ resources }) => resources),
    installers: all.filter((one) => isInstaller(one, metrics)).map(({ resources }) => resources),
    volumes: asObjects(volumes).filter(({ name }) => isToolVolume(name) && mounted.has(name)),
  }
}

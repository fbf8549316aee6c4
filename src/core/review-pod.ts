import { type Circumstances, decide } from './decide.ts'
import { type Decision, type Injected, leave } from './decision.ts'
import { type Fields, fieldsOrNone } from './kubernetes/json.ts'
import { readPod } from './kubernetes/pod.ts'
import { check, type Operation, patch } from './patch.ts'
import { plan } from './plan.ts'
import { REASONS } from './reasons.ts'
import { readPodAnnotations, readRequest } from './request.ts'
import { allowPatched, deny, type ReviewResponse } from './response.ts'
import type { Review } from './review.ts'
import { listOverlaps } from './rules/overlapping-metrics.ts'
import { listProcessOneUses, PAUSE } from './rules/process-one.ts'
import { describeLacked } from './status.ts'
import { nameFirst } from './text/name-first.ts'

/** The result of reviewing a pod: the response, and the decision for logs and metrics. */
export interface PodReview {
  readonly decision: Decision
  readonly operations: readonly Operation[]
  readonly response: ReviewResponse
  /** The internal error, if the reason is `internal-error`. */
  readonly fault?: unknown
}

/** The facts that a decision depends on, and the namespaces whose pods never get observers. */
export interface Settings extends Circumstances {
  readonly excludedNamespaces: ReadonlySet<string>
}

/** Reviews a pod. Never throws: after an internal error, the pod is allowed unchanged. */
export function reviewPod(review: Review, settings: Settings): PodReview {
  try {
    const { decision, operations } = decideAndPatch(review, settings)
    return { decision, operations, response: respond(review, decision, operations) }
  } catch (fault) {
    return allowAfterFault(review, fault)
  }
}

/** Allows a pod unchanged after an internal error. */
export function allowAfterFault(review: Review, fault: unknown): PodReview {
  const decision = leave('internal-error')
  return { decision, operations: [], response: respond(review, decision, []), fault }
}

/** Runs the steps of a review: read the request, decide, plan and patch. */
function decideAndPatch(
  review: Review,
  settings: Settings,
): { readonly decision: Decision; readonly operations: readonly Operation[] } {
  const isCreate = review.operation === 'CREATE' && review.subResource === ''
  if (!isCreate) return untouched(leave('not-create'))
  if (settings.excludedNamespaces.has(review.namespace))
    return untouched(leave('excluded-namespace'))
  const pod = readPod(review.object, review.source.size)
  if ('problem' in pod) return untouched(leave('invalid-pod', pod.problem))
  const { namespace, catalog } = settings
  const own = readPodAnnotations(pod.annotations, review.source, catalog)
  const request = readRequest(own, namespace.annotations, catalog)
  const decision = decide(pod, request, settings)
  const planned = plan(pod, decision, catalog, review.uid)
  const operations = patch(pod, planned)
  if (operations.length > 0) check(review.object, operations, planned)
  return { decision, operations }
}

function untouched(decision: Decision): { readonly decision: Decision; readonly operations: [] } {
  return { decision, operations: [] }
}

function respond(
  review: Review,
  decision: Decision,
  operations: readonly Operation[],
): ReviewResponse {
  if (decision.outcome === 'denied') return deny(review, decision.message)
  return allowPatched(review, operations, listWarnings(review, decision))
}

function listWarnings({ object }: Review, decision: Decision): readonly string[] {
  if (decision.outcome === 'injected')
    return listInjectionWarnings(decision, fieldsOrNone(fieldsOrNone(object).spec))
  if (decision.outcome !== 'left' || !REASONS[decision.reason].warns) return []
  return [`${decision.reason}: ${decision.message}`]
}

/**
 * Returns the warnings about a pod that gets observers: requested metrics that it does not get,
 * metrics that measure the same, and commands that need a process 1 of their own.
 */
export function listInjectionWarnings(
  { observers, left }: Injected,
  podSpec: Fields,
): readonly string[] {
  const uses = listProcessOneUses(podSpec)
  return [
    ...left.map(describeLacked),
    ...listOverlaps(observers.map(({ metric }) => metric)),
    ...(uses.length === 0 ? [] : [`${nameFirst(uses)}; ${PAUSE}`]),
  ]
}

import { type Circumstances, decide } from './decide.ts'
import { type Decision, leave } from './decision.ts'
import { readPod } from './kubernetes/pod.ts'
import { check, type Operation, patch } from './patch.ts'
import { plan } from './plan.ts'
import { REASONS, type Reason } from './reasons.ts'
import { readPodAnnotations, readRequest } from './request.ts'
import { allowPatched, deny, type ReviewResponse } from './response.ts'
import type { Review } from './review.ts'

/** What is answered about a pod, and what was decided, for logs and metrics. */
export interface PodReview {
  readonly decision: Decision
  readonly operations: readonly Operation[]
  readonly response: ReviewResponse
  /** The defect of ours behind the reason `internal-error`. */
  readonly fault?: unknown
}

/** Where a pod is to run, what is offered there, and where nothing is. */
export interface Settings extends Circumstances {
  readonly excludedNamespaces: ReadonlySet<string>
}

/** Answers the review of a pod. Never throws: a defect of ours allows the pod as it came. */
export function reviewPod(review: Review, settings: Settings): PodReview {
  try {
    const { decision, operations } = decideAndPatch(review, settings)
    return { decision, operations, response: respond(review, decision, operations) }
  } catch (fault) {
    return allowAfterFault(review, fault)
  }
}

/** Allows a pod as it came, for a defect of ours. */
export function allowAfterFault(review: Review, fault: unknown): PodReview {
  const decision = leave('internal-error')
  return { decision, operations: [], response: respond(review, decision, []), fault }
}

/** The story: request, decide, plan, patch. */
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
  const planned = plan(pod, decision, catalog.revision, review.uid)
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
  const { reason, message = '' } = decision.outcome === 'left' ? decision : {}
  // Whoever asked and did not get is told; whoever did not ask hears nothing.
  const concerns = reason !== undefined && (REASONS[reason].deniable || UNDENIABLE.has(reason))
  return allowPatched(review, operations, concerns ? [`${reason}: ${message}`] : [])
}

/** Reasons that concern the author of a pod that asked, though the pod is never refused for them. */
const UNDENIABLE: ReadonlySet<Reason> = new Set<Reason>(['internal-error', 'observer-differs'])

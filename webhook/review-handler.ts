import type { Catalog, Privilege } from '../src/core/catalog.ts'
import type { Namespace } from '../src/core/namespace.ts'
import { reviewNamespace } from '../src/core/namespaces/arm-namespace.ts'
import type { ReviewResponse } from '../src/core/response.ts'
import { leavesItToNamespace, type Review } from '../src/core/review.ts'
import { allowAfterFault, type PodReview, reviewPod } from '../src/core/review-pod.ts'
import { type NamespaceSource, NotKnownYet } from './namespaces.ts'
import { recordNamespaceReview, recordPodReview, type Telemetry } from './telemetry.ts'

/** The facts that reviews are answered by. */
export interface ReviewFacts {
  /** The catalog that is served now. */
  readonly catalog: () => Catalog
  readonly namespaces: NamespaceSource
  readonly excludedNamespaces: ReadonlySet<string>
  /** The Pod Security level of namespaces whose label names none. */
  readonly podSecurityDefault?: Privilege | undefined
  /** The images that at least one node is known to hold now; absent where no node is watched. */
  readonly heldImages?: (() => ReadonlySet<string>) | undefined
}

/**
 * Answers the review of a pod. An error of ours allows the pod unchanged. The answer is a promise only
 * where the namespace has to be looked up: all others are given in the same turn of the event loop.
 *
 * @throws NotKnownYet, also as a rejection, if the namespace is not known yet
 */
export function handlePodReview(
  review: Review,
  facts: ReviewFacts,
  telemetry: Telemetry,
): ReviewResponse | Promise<ReviewResponse> {
  const start = performance.now()
  const record = (reviewed: PodReview, seconds: number) => {
    recordPodReview(telemetry, review, reviewed, seconds)
    return reviewed.response
  }
  const answer = (namespace: Namespace) => {
    const reviewed = reviewPod(review, settingsIn(namespace, facts))
    return record(reviewed, (performance.now() - start) / 1000)
  }
  const fail = (fault: unknown) => {
    if (fault instanceof NotKnownYet) throw fault
    return record(allowAfterFault(review, fault), 0)
  }
  try {
    const namespace = facts.namespaces.find(review.namespace, leavesItToNamespace(review))
    return namespace instanceof Promise ? namespace.then(answer).catch(fail) : answer(namespace)
  } catch (fault) {
    return fail(fault)
  }
}

function settingsIn(namespace: Namespace, facts: ReviewFacts) {
  const { catalog, heldImages, excludedNamespaces, podSecurityDefault } = facts
  return {
    ...{ namespace, excludedNamespaces, podSecurityDefault },
    catalog: catalog(),
    heldImages: heldImages?.(),
  }
}

/** Answers the review of a namespace. An error of ours allows it unchanged. */
export function handleNamespaceReview(
  review: Review,
  { catalog, excludedNamespaces }: ReviewFacts,
  telemetry: Telemetry,
): ReviewResponse {
  const reviewed = reviewNamespace(review, catalog(), excludedNamespaces)
  recordNamespaceReview(telemetry, review, reviewed)
  return reviewed.response
}

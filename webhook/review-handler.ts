import type { Catalog, Privilege } from '../src/core/catalog.ts'
import { reviewNamespace } from '../src/core/namespaces/arm-namespace.ts'
import type { Namespace } from '../src/core/namespaces/namespace.ts'
import type { ReviewResponse } from '../src/core/response.ts'
import { leavesItToNamespace, type Review } from '../src/core/review.ts'
import { allowAfterFault, type PodReview, reviewPod } from '../src/core/review-pod.ts'
import { type NamespaceSource, NotKnownYet } from './namespaces.ts'
import { recordNamespaceReview, recordPodReview, type Telemetry } from './telemetry.ts'

/** The facts on which decisions are based. */
export interface ReviewFacts {
  /** Returns the current catalog. */
  readonly catalog: () => Catalog
  readonly namespaces: NamespaceSource
  readonly excludedNamespaces: ReadonlySet<string>
  /** Whether namespaces whose revision changes get the label `ridealong.dev/moved-from`. */
  readonly marksMoves?: boolean | undefined
  /** The Pod Security level of namespaces that have no label for it. */
  readonly podSecurityDefault?: Privilege | undefined
  /**
   * Returns the images that at least one node is known to have now; undefined if images are not
   * watched.
   */
  readonly heldImages?: (() => ReadonlySet<string>) | undefined
  /** Returns N of the apiserver's version 1.N, or undefined if it is not known. */
  readonly apiserverVersion?: (() => number | undefined) | undefined
  /** Returns the names of the revisions of all releases. */
  readonly revisions?: (() => ReadonlySet<string>) | undefined
}

/**
 * Answers the review of a pod. After an internal error, the pod is allowed unchanged. The response
 * is a promise only if the namespace must be looked up; otherwise the response is returned in the
 * same turn of the event loop.
 *
 * @throws NotKnownYet, directly or as the rejection of the promise, if facts about the namespace or
 * the images on nodes are missing
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
  const { catalog, heldImages, excludedNamespaces, podSecurityDefault, apiserverVersion } = facts
  return {
    namespace,
    excludedNamespaces,
    podSecurityDefault,
    catalog: catalog(),
    heldImages: heldImages?.(),
    apiserverVersion: apiserverVersion?.(),
    revisions: facts.revisions?.(),
  }
}

/**
 * Answers the review of a namespace. After an internal error, the namespace is allowed unchanged.
 */
export function handleNamespaceReview(
  review: Review,
  { catalog, excludedNamespaces, marksMoves }: ReviewFacts,
  telemetry: Telemetry,
): ReviewResponse {
  const reviewed = reviewNamespace(review, catalog(), { excludedNamespaces, marksMoves })
  recordNamespaceReview(telemetry, review, reviewed)
  return reviewed.response
}

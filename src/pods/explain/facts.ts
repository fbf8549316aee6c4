import type { Fields } from '../../core/kubernetes/json.ts'
import type { DecisionRule } from '../../core/reasons.ts'
import type { Review } from '../../core/review.ts'
import type { Settings } from '../../core/review-pod.ts'

/** A fact read from a cluster, or the problem that prevented reading it. */
export type FactLookup<T> = { readonly value: T } | { readonly problem: string }

/** Facts about the webhook, read from a cluster. */
export interface WebhookFacts {
  /** The current time in milliseconds since 1970, for checking expiry. */
  readonly now: number
  /** The MutatingWebhookConfiguration of the release; undefined if there is none. */
  readonly configuration: FactLookup<Fields | undefined>
  /** The revisions of all releases, as names; undefined if they were not read. */
  readonly revisions?: readonly string[] | undefined
  /** The certificates that the server presents, as PEM, with the server's own certificate first. */
  readonly serving: FactLookup<string>
  /** The number of ready replicas; undefined if the webhook is called by URL. */
  readonly ready: FactLookup<number | undefined>
}

/**
 * Whether the apiserver admits a pod with its observers, according to dry runs of its creation.
 * - `admitted`: it does. `pod` is the pod that it would store.
 * - `denied`: it denies the pod with observers, and admits it without observers. `message` is that
 *   of the apiserver.
 * - `unknown`: it denies both, or a dry run failed.
 */
export type Admission =
  | { readonly outcome: 'admitted'; readonly pod: Fields }
  | { readonly outcome: 'denied'; readonly message: string }
  | { readonly outcome: 'unknown'; readonly problem: string }

/** The names of rules that were not checked, each with one sentence that says why. */
export type UncheckedRules = Readonly<Partial<Record<DecisionRule['name'], string>>>

/** The facts that an explanation is based on. */
export interface Facts {
  /** The subject of the explanation, for people: `pod/lammps-0`. */
  readonly subject: string
  /** The review of the pod's creation, recorded or constructed. */
  readonly review: Review
  /** Whether the review is of the first pod of a template, and the other pods may differ. */
  readonly isTemplate?: boolean
  /** The `podFailurePolicy` of the Job whose template the pod comes from, if it is known. */
  readonly failurePolicy?: unknown
  /** Whether an operator builds the pod, and its containers are not all known. */
  readonly isAssumed?: boolean
  /** Sentences about annotations of the object that creates the pod; they do not reach the pod. */
  readonly misplaced?: readonly string[]
  /** The pod in the cluster, if it was created. */
  readonly created?: Fields | undefined
  readonly settings: Settings
  /** The number of pods like this one; undefined if it is unknown. */
  readonly pods: number | undefined
  /**
   * A description of the differences between the outcomes of the workload's pods, if there are any.
   */
  readonly differences?: string | undefined
  /** The Namespace; undefined if none was found. */
  readonly namespace: FactLookup<Fields | undefined>
  /**
   * For each rule of the cluster whose objects were not read: one sentence that says which of them
   * are not known.
   */
  readonly unchecked: UncheckedRules
  /**
   * Whether the catalog may differ from the catalog that the pod was created with. This is the case
   * if the cluster's catalog was not read and no other catalog was specified.
   */
  readonly isCatalogGuessed?: boolean
  /** Undefined if no dry run was made: without a cluster, and for pods that get no observers. */
  readonly admission?: Admission | undefined
  /** Undefined if no cluster was queried. */
  readonly webhook: WebhookFacts | undefined
}

import type { Fields } from '../core/kubernetes/json.ts'
import type { Review } from '../core/review.ts'
import type { Settings } from '../core/review-pod.ts'

/** What was asked of a cluster: an answer, or why there is none. */
export type FactLookup<T> = { readonly value: T } | { readonly problem: string }

/** What a cluster says of the webhook. */
export interface WebhookFacts {
  /** Milliseconds since 1970, for what expires. */
  readonly now: number
  /** The MutatingWebhookConfiguration; undefined where there is none. */
  readonly configuration: FactLookup<Fields | undefined>
  /** The certificates that the server shows, as PEM, its own first. */
  readonly serving: FactLookup<string>
  /** How many replicas are ready; undefined where the webhook is called by URL. */
  readonly ready: FactLookup<number | undefined>
}

/** All that an explanation is made of. */
export interface Facts {
  /** What is explained, for people: `pod/lammps-0`. */
  readonly subject: string
  /** The creation of the pod, as it came or would come. */
  readonly review: Review
  /** The pod as it is in the cluster, where it is there. */
  readonly created?: Fields | undefined
  readonly settings: Settings
  /** How many pods are like this one; undefined where nobody knows. */
  readonly pods: number | undefined
  /** How pods of the same workload came out differently, in words, if they did. */
  readonly differences?: string | undefined
  /** The Namespace; undefined where none was found. */
  readonly namespace: FactLookup<Fields | undefined>
  /** What rules in the namespace and could not be read, a sentence each. */
  readonly unread: readonly string[]
  /**
   * Whether the catalog may be another than the one that the pod was made with: neither the cluster's was
   * read nor another one named.
   */
  readonly isCatalogGuessed?: boolean
  /** Nothing where no cluster was asked. */
  readonly webhook: WebhookFacts | undefined
}

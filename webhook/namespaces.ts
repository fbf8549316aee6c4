import type { Namespace } from '../src/core/namespaces/namespace.ts'
import type { ReadinessCheck } from './status-app.ts'

/**
 * Thrown when the server lacks facts about a namespace or about the images on nodes, so that a pod
 * could wrongly be left. For example, the server was called before it was ready, or the
 * apiserver did not return a namespace that should request metrics.
 */
export class NotKnownYet extends Error {
  readonly code = 'NOT_KNOWN_YET'
  readonly statusCode = 503

  constructor(what: string) {
    super(`${what} is not known yet: call again in 1 s`)
  }
}

/**
 * A source of namespaces. For an unknown name, the result is a namespace without labels,
 * annotations, LimitRanges and ResourceQuotas.
 */
export interface NamespaceSource {
  /**
   * @param mustAsk whether the pod was sent because its namespace requests metrics; a cached
   * namespace that requests none may then be out of date
   * @throws NotKnownYet, directly or as the rejection of the promise
   */
  find(name: string, mustAsk: boolean): Namespace | Promise<Namespace>
}

/** The namespaces that a running server follows. */
export interface FollowedNamespaces extends NamespaceSource {
  /** Returns the readiness checks of the followed objects. */
  checks(): readonly ReadinessCheck[]
  /**
   * Returns the images that at least one node is known to have; undefined if images are not
   * watched.
   */
  readonly heldImages?: (() => ReadonlySet<string>) | undefined
  /**
   * Returns N of the apiserver's version 1.N, or undefined if it is not known; undefined without a
   * cluster.
   */
  readonly apiserverVersion?: (() => number | undefined) | undefined
  /** Returns the names of the revisions of all releases; undefined without a cluster. */
  readonly revisions?: (() => ReadonlySet<string>) | undefined
  stop(): void | Promise<void>
}

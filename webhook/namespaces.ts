import type { Namespace } from '../src/core/namespace.ts'
import type { ReadinessCheck } from './status-app.ts'

/**
 * Thrown by a server that would leave a pod only because it knows too little: it has just started, and was
 * called before anybody saw that it is not ready, or the apiserver says nothing of a namespace that asks.
 */
export class NotKnownYet extends Error {
  readonly code = 'NOT_KNOWN_YET'
  readonly statusCode = 503

  constructor(what: string) {
    super(`${what} is not known yet: ask again in 1 s`)
  }
}

/** Where the server learns what a namespace says. A namespace unknown says nothing. */
export interface NamespaceSource {
  /**
   * @param mustAsk whether a pod is here because its namespace asks, so that one which does not is
   * perhaps known too late
   * @throws NotKnownYet, also as a rejection
   */
  find(name: string, mustAsk: boolean): Namespace | Promise<Namespace>
}

/** Namespaces that are followed for as long as a server runs. */
export interface FollowedNamespaces extends NamespaceSource {
  /** What stands in the way of knowing them as they are. */
  checks(): readonly ReadinessCheck[]
  /** The images that at least one node is known to hold; there is none where nobody watches. */
  readonly heldImages?: (() => ReadonlySet<string>) | undefined
  stop(): void | Promise<void>
}

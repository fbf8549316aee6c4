import { type Namespace, readNamespace } from '../../src/core/namespace.ts'
import { namespaceItem, ruleItem, type StoredObject } from './reflect/item.ts'
import { createStore, type Store } from './reflect/store.ts'

/** The resources that are watched: the name in a path, and what is kept of an object. */
export const RESOURCES = {
  namespaces: namespaceItem,
  limitranges: ruleItem,
  resourcequotas: ruleItem,
} as const satisfies Record<string, (object: unknown) => StoredObject>

export type WatchedResource = keyof typeof RESOURCES

export const RESOURCE_NAMES = Object.keys(RESOURCES) as readonly WatchedResource[]

/** What is known of a cluster's namespaces. */
export interface NamespaceCache {
  readonly collections: Readonly<Record<WatchedResource, Store>>
  /** The namespace, a value that was made when something about it changed; undefined if unknown. */
  find(name: string): Namespace | undefined
}

/**
 * Knows nothing yet; the collections are filled from outside.
 *
 * @param onChange told the name of a namespace about which something else is known than before
 */
export function createNamespaceCache(onChange: (name: string) => void): NamespaceCache {
  const values = new Map<string, Namespace>()
  const update = (name: string) => {
    const [namespace] = collections.namespaces.of(name)
    if (namespace === undefined) values.delete(name)
    else values.set(name, readNamespace(name, namespace.object, rulesOf(name)))
    onChange(name)
  }
  const collections = {
    namespaces: createStore(update),
    limitranges: createStore(update),
    resourcequotas: createStore(update),
  }
  const rulesOf = (name: string) => ({
    limitRanges: collections.limitranges.of(name).map(({ object }) => object),
    resourceQuotas: collections.resourcequotas.of(name).map(({ object }) => object),
  })
  return { collections, find: (name) => values.get(name) }
}

import { namespaceItem, ruleItem, type StoredObject } from '../../src/cluster/reflect/item.ts'
import { createStore, type Store } from '../../src/cluster/reflect/store.ts'
import { type Namespace, readNamespace } from '../../src/core/namespaces/namespace.ts'

/**
 * The watched resources, by the name of the resource in API paths. Each value is the function that
 * selects the fields of an object to keep.
 */
export const RESOURCES = {
  namespaces: namespaceItem,
  limitranges: ruleItem,
  resourcequotas: ruleItem,
} as const satisfies Record<string, (object: unknown) => StoredObject>

export type WatchedResource = keyof typeof RESOURCES

export const RESOURCE_NAMES = Object.keys(RESOURCES) as readonly WatchedResource[]

/** The cached namespaces of a cluster. */
export interface NamespaceCache {
  readonly collections: Readonly<Record<WatchedResource, Store>>
  /**
   * Returns a namespace, or undefined if the namespace is not cached. A namespace is parsed again
   * only when its object or one of its rules (LimitRanges and ResourceQuotas) changes.
   */
  find(name: string): Namespace | undefined
}

/**
 * Creates an empty cache, which the caller fills through `collections`.
 *
 * @param onChange called with the name of a namespace when the namespace or one of its rules
 * changes
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

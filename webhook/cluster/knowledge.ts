import { type Namespace, readNamespace } from '../../src/core/namespace.ts'
import { type Collection, createCollection } from './collection.ts'
import { type Item, namespaceItem, ruleItem } from './item.ts'

/** The resources that are watched: the name in a path, and what is kept of an object. */
export const RESOURCES = {
  namespaces: namespaceItem,
  limitranges: ruleItem,
  resourcequotas: ruleItem,
} as const satisfies Record<string, (object: unknown) => Item>

export type Resource = keyof typeof RESOURCES

export const RESOURCE_NAMES = Object.keys(RESOURCES) as readonly Resource[]

/** What is known of a cluster's namespaces. */
export interface Knowledge {
  readonly collections: Readonly<Record<Resource, Collection>>
  /** The namespace, a value that was made when something about it changed; undefined if unknown. */
  find(name: string): Namespace | undefined
}

/**
 * Knows nothing yet; the collections are filled from outside.
 *
 * @param onChange told the name of a namespace about which something else is known than before
 */
export function createKnowledge(onChange: (name: string) => void): Knowledge {
  const values = new Map<string, Namespace>()
  const update = (name: string) => {
    const [namespace] = collections.namespaces.of(name)
    if (namespace === undefined) values.delete(name)
    else values.set(name, readNamespace(name, namespace.object, rulesOf(name)))
    onChange(name)
  }
  const collections = {
    namespaces: createCollection(update),
    limitranges: createCollection(update),
    resourcequotas: createCollection(update),
  }
  const rulesOf = (name: string) => ({
    limitRanges: collections.limitranges.of(name).map(({ object }) => object),
    resourceQuotas: collections.resourcequotas.of(name).map(({ object }) => object),
  })
  return { collections, find: (name) => values.get(name) }
}

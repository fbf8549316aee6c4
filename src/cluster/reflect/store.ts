import { isLater, type StoredObject } from './item.ts'
import type { Collection } from './reflector.ts'

/** The objects of one resource, by namespace. The returned values are immutable. */
export interface Store extends Collection<StoredObject> {
  /** Returns the objects of a namespace. */
  of(namespace: string): readonly StoredObject[]
  /** Returns the namespaces that have at least one object. */
  namespaces(): Iterable<string>
  /**
   * Replaces the objects of one namespace with a list that was read at a resourceVersion. Stored
   * objects with a later version are kept.
   */
  settle(namespace: string, listed: readonly StoredObject[], resourceVersion: string): void
}

const NONE: readonly StoredObject[] = Object.freeze([])

/**
 * Creates an empty store.
 *
 * Objects from watches, lists and single requests arrive in any order, so a stored object is never
 * replaced by an older version.
 *
 * @param onChange called with a namespace when its objects change
 */
export function createStore(onChange: (namespace: string) => void): Store {
  const byNamespace = new Map<string, readonly StoredObject[]>()
  const of = (namespace: string) => byNamespace.get(namespace) ?? NONE
  const set = (namespace: string, items: readonly StoredObject[]) => {
    if (isSame(items, of(namespace))) return
    if (items.length === 0) byNamespace.delete(namespace)
    else byNamespace.set(namespace, items)
    onChange(namespace)
  }
  const without = (gone: StoredObject) => {
    return of(gone.namespace).filter(({ name, resourceVersion }) => {
      return name !== gone.name || isLater(resourceVersion, gone.resourceVersion)
    })
  }
  const settle = (namespace: string, listed: readonly StoredObject[], resourceVersion: string) => {
    set(namespace, merge(of(namespace), listed, resourceVersion))
  }
  return {
    of,
    settle,
    namespaces: () => byNamespace.keys(),
    put(item) {
      const others = without(item)
      const isKnown = others.some(({ name }) => name === item.name)
      if (!isKnown) set(item.namespace, [...others, item])
    },
    remove: (item) => set(item.namespace, without(item)),
    settleAll(listed, resourceVersion) {
      const groups = new Map<string, StoredObject[]>()
      for (const item of listed) {
        const group = groups.get(item.namespace)
        if (group === undefined) groups.set(item.namespace, [item])
        else group.push(item)
      }
      for (const namespace of new Set([...byNamespace.keys(), ...groups.keys()])) {
        settle(namespace, groups.get(namespace) ?? NONE, resourceVersion)
      }
    },
  }
}

function merge(
  present: readonly StoredObject[],
  listed: readonly StoredObject[],
  resourceVersion: string,
) {
  const merged = listed.map((item) => {
    const known = present.find(({ name }) => name === item.name)
    return known !== undefined && !isLater(item.resourceVersion, known.resourceVersion)
      ? known
      : item
  })
  const newborn = present.filter((item) => {
    const isListed = listed.some(({ name }) => name === item.name)
    return !isListed && isLater(item.resourceVersion, resourceVersion)
  })
  return [...merged, ...newborn]
}

function isSame(some: readonly StoredObject[], others: readonly StoredObject[]): boolean {
  return some.length === others.length && some.every((item, place) => item === others[place])
}

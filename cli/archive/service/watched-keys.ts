import type { Collection } from '../../../src/cluster/reflect/reflector.ts'

export interface WatchedKeysOptions<Item> {
  keyOf(item: Item): string
  /** Stores the state of an object. */
  put(item: Item): void
  /** Is called with the key of an object that does not exist any more. */
  lose(key: string): void
}

/**
 * Creates the collection of one watch, which remembers the keys of the objects that it shows. An
 * object that is missing in a new list is lost, as one whose deletion is seen.
 */
export function collectKeys<Item>({
  keyOf,
  put,
  lose,
}: WatchedKeysOptions<Item>): Collection<Item> {
  let present = new Set<string>()
  return {
    put(item) {
      present.add(keyOf(item))
      put(item)
    },
    remove(item) {
      present.delete(keyOf(item))
      // The event of a deletion has the last state.
      put(item)
      lose(keyOf(item))
    },
    settleAll(listed) {
      const before = present
      present = new Set(listed.map(keyOf))
      for (const item of listed) put(item)
      for (const key of before) if (!present.has(key)) lose(key)
    },
  }
}

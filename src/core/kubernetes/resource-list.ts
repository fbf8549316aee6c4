import type { Fields } from './json.ts'
import { readQuantity } from './quantity.ts'

/** A core/v1 ResourceList: amounts in 10^-12 units by the name of the resource. */
export type ResourceList = ReadonlyMap<string, bigint>

export const EMPTY_RESOURCE_LIST: ResourceList = new Map()

/**
 * Reads a ResourceList. Values that are not quantities are skipped; the apiserver refuses objects
 * with such values.
 *
 * @param names the resources to read; if omitted, all are read
 */
export function readResourceList(list: Fields, names?: ReadonlySet<string>): ResourceList {
  const written = Object.keys(list)
  if (written.length === 0) return EMPTY_RESOURCE_LIST
  const amounts = new Map<string, bigint>()
  for (const name of written) {
    if (names !== undefined && !names.has(name)) continue
    const amount = readQuantity(list[name])
    if (amount !== undefined) amounts.set(name, amount)
  }
  return amounts
}

/** Merges two lists. If both have a resource, the amount in the first list is used. */
export function filled(amounts: ResourceList, defaults: ResourceList): ResourceList {
  if (defaults.size === 0) return amounts
  if (amounts.size === 0) return defaults
  const result = new Map(defaults)
  for (const [name, amount] of amounts) result.set(name, amount)
  return result
}

/** Returns the sum of each resource over all lists, in linear time. */
export function sum(lists: Iterable<ResourceList>): ResourceList {
  return merged(lists, (one, other) => one + other)
}

/** Returns the greatest amount of each resource in any list, in linear time. */
export function greatest(lists: Iterable<ResourceList>): ResourceList {
  return merged(lists, (one, other) => (one > other ? one : other))
}

/** Merges all lists into one new map. Copying the map for each list would take quadratic time. */
function merged(
  lists: Iterable<ResourceList>,
  merge: (one: bigint, other: bigint) => bigint,
): ResourceList {
  const result = new Map<string, bigint>()
  for (const list of lists) {
    for (const [name, amount] of list) {
      const own = result.get(name)
      result.set(name, own === undefined ? amount : merge(own, amount))
    }
  }
  return result
}

/** Returns the first resource of a ResourceList whose amount is not a quantity. */
export function unreadableIn(list: Fields): string | undefined {
  return Object.keys(list).find((name) => readQuantity(list[name]) === undefined)
}

import type { Fields } from './json.ts'
import { readQuantity } from './quantity.ts'

/** A core/v1 ResourceList as numbers in 10^-12 units, by the resource's name. */
export type ResourceList = ReadonlyMap<string, bigint>

export const EMPTY_RESOURCE_LIST: ResourceList = new Map()

/**
 * Reads a ResourceList. What is no quantity is left out: the apiserver takes no such object.
 *
 * @param names the resources to read; without it all are read
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

/** Both lists; where both have a resource, the first one's amount. */
export function filled(amounts: ResourceList, defaults: ResourceList): ResourceList {
  if (defaults.size === 0) return amounts
  if (amounts.size === 0) return defaults
  const result = new Map(defaults)
  for (const [name, amount] of amounts) result.set(name, amount)
  return result
}

/** The sum of each resource over all lists. Each amount is looked at once. */
export function sum(lists: Iterable<ResourceList>): ResourceList {
  return merged(lists, (one, other) => one + other)
}

/** The greatest amount of each resource in any list. Each amount is looked at once. */
export function greatest(lists: Iterable<ResourceList>): ResourceList {
  return merged(lists, (one, other) => (one > other ? one : other))
}

/** Merges into one new map: a copy for each list would cost the square of their number. */
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

/** The first resource of a ResourceList whose amount is no quantity, or nothing. */
export function unreadableIn(list: Fields): string | undefined {
  return Object.keys(list).find((name) => readQuantity(list[name]) === undefined)
}

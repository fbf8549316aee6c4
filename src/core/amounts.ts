import type { Fields } from './json.ts'
import { readQuantity } from './quantity.ts'

/** A core/v1 ResourceList as numbers in 10^-12 units, by the resource's name. */
export type Amounts = ReadonlyMap<string, bigint>

export const NO_AMOUNTS: Amounts = new Map()

/**
 * Reads a ResourceList. What is no quantity is left out: the apiserver takes no such object.
 *
 * @param names the resources to read; without it all are read
 */
export function readAmounts(list: Fields, names?: ReadonlySet<string>): Amounts {
  const written = Object.keys(list)
  if (written.length === 0) return NO_AMOUNTS
  const amounts = new Map<string, bigint>()
  for (const name of written) {
    if (names !== undefined && !names.has(name)) continue
    const amount = readQuantity(list[name])
    if (amount !== undefined) amounts.set(name, amount)
  }
  return amounts
}

/** Both lists; where both have a resource, the first one's amount. */
export function filled(amounts: Amounts, defaults: Amounts): Amounts {
  if (defaults.size === 0) return amounts
  if (amounts.size === 0) return defaults
  const result = new Map(defaults)
  for (const [name, amount] of amounts) result.set(name, amount)
  return result
}

/** The sum of each resource over all lists. Each amount is looked at once. */
export function sum(lists: Iterable<Amounts>): Amounts {
  return merged(lists, (one, other) => one + other)
}

/** The greatest amount of each resource in any list. Each amount is looked at once. */
export function greatest(lists: Iterable<Amounts>): Amounts {
  return merged(lists, (one, other) => (one > other ? one : other))
}

/** Merges into one new map: a copy for each list would cost the square of their number. */
function merged(lists: Iterable<Amounts>, merge: (one: bigint, other: bigint) => bigint): Amounts {
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

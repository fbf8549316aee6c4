import type { Fields } from './json.ts'
import { readQuantity } from './quantity.ts'

/** A core/v1 ResourceList as numbers in 10^-12 units, by the resource's name. */
export type Amounts = ReadonlyMap<string, bigint>

export const NO_AMOUNTS: Amounts = new Map()

/** Reads a ResourceList. What is no quantity is left out: the apiserver takes no such object. */
export function readAmounts(list: Fields): Amounts {
  const amounts = new Map<string, bigint>()
  for (const [name, written] of Object.entries(list)) {
    const amount = readQuantity(written)
    if (amount !== undefined) amounts.set(name, amount)
  }
  return amounts
}

/** Both lists; where both have a resource, the first one's amount. */
export function filled(amounts: Amounts, defaults: Amounts): Amounts {
  return defaults.size === 0 ? amounts : new Map([...defaults, ...amounts])
}

/** The sum of each resource. */
export function plus(a: Amounts, b: Amounts): Amounts {
  return merged(a, b, (one, other) => one + other)
}

/** The greater of each resource. */
export function greater(a: Amounts, b: Amounts): Amounts {
  return merged(a, b, (one, other) => (one > other ? one : other))
}

function merged(a: Amounts, b: Amounts, merge: (one: bigint, other: bigint) => bigint): Amounts {
  const result = new Map(a)
  for (const [name, amount] of b) {
    const own = result.get(name)
    result.set(name, own === undefined ? amount : merge(own, amount))
  }
  return result
}

/** The first resource of a ResourceList whose amount is no quantity, or nothing. */
export function unreadableIn(list: Fields): string | undefined {
  return Object.keys(list).find((name) => readQuantity(list[name]) === undefined)
}

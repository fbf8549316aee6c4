/**
 * Returns the subsets of a list with at most three items, and those that leave out at most two,
 * each in the order of the list. Three items show each pair and each order; the number of all
 * subsets would double with each item.
 */
export function subsetsOf<Item>(items: readonly Item[]): readonly (readonly Item[])[] {
  const few = choicesOf(items.length, 3)
  const most = choicesOf(items.length, 2).map((left) => complementOf(left, items.length))
  const chosen = new Map([...few, ...most].map((choice) => [choice.join(), choice]))
  return [...chosen.values()].map((choice) => items.filter((_, index) => choice.includes(index)))
}

/** Returns the sets of at most `most` of the numbers below `count`, each in ascending order. */
function choicesOf(count: number, most: number): readonly (readonly number[])[] {
  if (most === 0) return [[]]
  const smaller = choicesOf(count, most - 1)
  const largest = smaller.filter(({ length }) => length === most - 1)
  const next = largest.flatMap((choice) => {
    const first = (choice.at(-1) ?? -1) + 1
    return Array.from({ length: count - first }, (_, index) => [...choice, first + index])
  })
  return [...smaller, ...next]
}

function complementOf(choice: readonly number[], count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index).filter((one) => !choice.includes(one))
}

/** Returns all subsets of a list, each in the order of the list. */
export function subsetsOf<Item>(items: readonly Item[]): readonly (readonly Item[])[] {
  return Array.from({ length: 2 ** items.length }, (_, mask) =>
    items.filter((_, index) => (mask >> index) % 2 === 1),
  )
}

/** A resource with a limit for all namespaces together, of which each namespace has a share. */
export interface Shares {
  /** The amount that all namespaces use. */
  readonly used: number
  /** Reports whether a namespace may use this amount more. */
  hasRoom(namespace: string, amount: number): boolean
  /** Notes that a namespace uses more, or with a negative amount less. */
  add(namespace: string, amount: number): void
}

/**
 * Reports whether a namespace may use this amount more. With it, the namespace uses at most the
 * amount that is free. A namespace alone can use half of a resource, two can use a third each, and
 * so on, so a part is always left for another one. This is the dynamic threshold of Choudhury and
 * Hahne (IEEE/ACM Transactions on Networking 6, 1998).
 */
export function fitsShare(used: number, free: number, amount: number): boolean {
  return used + amount <= free
}

export function createShares(total: number): Shares {
  const byNamespace = new Map<string, number>()
  let all = 0
  return {
    get used() {
      return all
    },
    hasRoom: (namespace, amount) => fitsShare(byNamespace.get(namespace) ?? 0, total - all, amount),
    add(namespace, amount) {
      const used = (byNamespace.get(namespace) ?? 0) + amount
      all += amount
      if (used > 0) byNamespace.set(namespace, used)
      else byNamespace.delete(namespace)
    },
  }
}

/** Items that wait for one of a number of slots. */
export interface Turns<Item> {
  /** The number of used slots. */
  readonly used: number
  /** Adds an item at the end of those of its namespace, unless it waits already. */
  add(item: Item): void
  /** Removes an item that waits. */
  remove(item: Item): void
  /**
   * Returns the next item and gives it a slot; undefined if no item may have one. The namespaces
   * whose share of the slots is not used up take turns.
   */
  take(): Item | undefined
  /** Takes back the slot of an item. */
  end(item: Item): void
}

export function createTurns<Item>(slots: number, namespaceOf: (item: Item) => string): Turns<Item> {
  const shares = createShares(slots)
  const waiting = new Map<string, Set<Item>>()
  /** The numbers of the last turns of namespaces. */
  const turns = new Map<string, number>()
  let count = 0
  const remove = (item: Item) => {
    const namespace = namespaceOf(item)
    const items = waiting.get(namespace)
    items?.delete(item)
    if (items?.size === 0) waiting.delete(namespace)
  }
  const findNext = (): Item | undefined => {
    const ready = [...waiting.keys()].filter((namespace) => shares.hasRoom(namespace, 1))
    const turnOf = (namespace: string) => turns.get(namespace) ?? 0
    const [next] = ready.sort((a, b) => turnOf(a) - turnOf(b))
    const [item] = waiting.get(next ?? '') ?? []
    return item
  }
  return {
    get used() {
      return shares.used
    },
    add(item) {
      const namespace = namespaceOf(item)
      waiting.set(namespace, (waiting.get(namespace) ?? new Set()).add(item))
    },
    remove,
    take() {
      const item = findNext()
      if (item === undefined) return undefined
      const namespace = namespaceOf(item)
      remove(item)
      shares.add(namespace, 1)
      count += 1
      turns.set(namespace, count)
      return item
    },
    end(item) {
      shares.add(namespaceOf(item), -1)
    },
  }
}

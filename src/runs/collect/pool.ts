/** How the items of a pool are handled. */
export interface Pool<Item, Result> {
  /** The maximum number of items whose work is not done. */
  readonly parallel: number
  /** Whether `done` is called in the order of the items. */
  readonly isOrdered: boolean
  /** If it is aborted, no more items are begun. */
  readonly signal: AbortSignal
  readonly work: (item: Item) => Promise<Result>
  /** Handles a result. The item counts as unfinished until then. */
  readonly done: (result: Result) => Promise<void>
}

/**
 * Handles the items, several at a time, and waits until none is being handled.
 *
 * @throws the first error, after which no more items are begun
 */
export async function runPool<Item, Result>(
  items: readonly Item[],
  { parallel, isOrdered, signal, work, done }: Pool<Item, Result>,
): Promise<void> {
  const failures: unknown[] = []
  const mayBegin = () => !signal.aborted && failures.length === 0
  const queue = items.values()
  let last: Promise<void> = Promise.resolve()
  const handle = async (item: Item) => {
    const previous = last
    let resolve = () => {}
    last = new Promise((end) => {
      resolve = end
    })
    try {
      const result = await work(item)
      if (isOrdered) await previous
      if (failures.length === 0) await done(result)
    } catch (error) {
      failures.push(error)
    } finally {
      resolve()
    }
  }
  const handleNext = async () => {
    while (mayBegin()) {
      const { value, done: isEmpty } = queue.next()
      if (isEmpty) return
      await handle(value)
    }
  }
  await Promise.all(Array.from({ length: Math.min(parallel, items.length) }, handleNext))
  if (failures.length > 0) throw failures[0]
}

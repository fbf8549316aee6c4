import t from 'tap'
import { createShares, createTurns } from '../../../cli/archive/shares.ts'

/** Adds 1 for a namespace as often as it has room, and returns how often. */
function fill({ hasRoom, add }: ReturnType<typeof createShares>, namespace: string): number {
  let count = 0
  for (; hasRoom(namespace, 1); count += 1) add(namespace, 1)
  return count
}

t.test('each namespace leaves something to the next one', async (t) => {
  const shares = createShares(64)
  const names = ['a', 'b', 'c', 'd', 'e', 'f']
  t.strictSame(
    names.map((namespace) => fill(shares, namespace)),
    [32, 16, 8, 4, 2, 1],
  )
  shares.add('a', -32)
  t.equal(fill(shares, 'g'), 17, 'what is given back can be used by others')
})

t.test('a single slot can be used, and not twice', async (t) => {
  const shares = createShares(1)
  t.equal(fill(shares, 'a'), 1)
  t.equal(fill(shares, 'b'), 0)
})

interface Item {
  readonly namespace: string
  readonly number: number
}

const nameOf = ({ namespace, number }: Item) => `${namespace}${number}`

t.test('namespaces take turns, whatever the number of their items', async (t) => {
  const turns = createTurns<Item>(1, ({ namespace }) => namespace)
  for (let number = 1; number <= 100; number += 1) turns.add({ namespace: 'a', number })
  turns.add({ namespace: 'b', number: 1 })
  turns.add({ namespace: 'b', number: 2 })
  const order: string[] = []
  while (order.length < 6) {
    const item = turns.take()
    if (item === undefined) throw new Error('nothing waits')
    t.equal(turns.take(), undefined, 'there is one slot')
    order.push(nameOf(item))
    turns.end(item)
  }
  t.strictSame(order, ['a1', 'b1', 'a2', 'b2', 'a3', 'a4'])
})

t.test('an item waits once, and can be removed', async (t) => {
  const turns = createTurns<Item>(8, ({ namespace }) => namespace)
  const [first, second] = [1, 2].map((number) => ({ namespace: 'a', number }))
  if (first === undefined || second === undefined) throw new Error('there are two items')
  for (const item of [first, first, second]) turns.add(item)
  turns.remove(first)
  t.equal(turns.take(), second)
  t.equal(turns.take(), undefined)
  t.equal(turns.used, 1)
  turns.end(second)
  t.equal(turns.used, 0)
})

import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { runPool } from '../../../../src/runs/collect/pool.ts'

const ITEMS = Array.from({ length: 20 }, (_, index) => index)

/** Handles the items. The work on an item takes longer, the smaller the item is. */
async function handle(isOrdered: boolean, more: object = {}) {
  const state = { open: 0, most: 0, done: [] as number[] }
  const pool = {
    parallel: 4,
    isOrdered,
    signal: new AbortController().signal,
    work: async (item: number) => {
      state.open += 1
      state.most = Math.max(state.most, state.open)
      for (let count = 20 - item; count > 0; count -= 1) await turn()
      return item
    },
    done: async (item: number) => {
      state.open -= 1
      state.done.push(item)
    },
    ...more,
  }
  const failure = await runPool(ITEMS, pool).catch((error: Error) => error.message)
  return { ...state, failure }
}

t.test('no more items are open at a time than allowed', async (t) => {
  for (const isOrdered of [true, false]) {
    const { most, done } = await handle(isOrdered)
    t.equal(most, 4)
    t.strictSame(
      [...done].sort((a, b) => a - b),
      ITEMS,
    )
  }
})

t.test('the results are in the order of the items, or as they arrive', async (t) => {
  t.strictSame((await handle(true)).done, ITEMS)
  t.not((await handle(false)).done[0], 0)
})

t.test('after an error, no more items are begun, and the error is thrown', async (t) => {
  for (const isOrdered of [true, false]) {
    const begun: number[] = []
    const work = async (item: number) => {
      begun.push(item)
      await turn()
      if (item === 5) throw new Error('the disk is full')
      return item
    }
    const { failure, done } = await handle(isOrdered, { work })
    t.equal(failure, 'the disk is full')
    t.ok(begun.length < 12)
    t.notOk(done.includes(5))
  }
})

t.test('after an abort, no more items are begun', async (t) => {
  const stop = new AbortController()
  const work = async (item: number) => {
    if (item === 3) stop.abort()
    return item
  }
  const { done, failure } = await handle(true, { work, signal: stop.signal })
  t.equal(failure, undefined)
  t.ok(done.length < 8)
})

import { mock } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createLookPace } from '../../../cli/top/live-scene.ts'

/** Returns the seconds of the lists of the pods within 40 seconds. */
async function listsOf(t: Test, pods: number, endings: readonly number[]) {
  mock.timers.enable({ apis: ['setTimeout'] })
  const stop = new AbortController()
  const pace = createLookPace(stop.signal)
  const lists: number[] = []
  let second = 0
  const listPods = async () => {
    while (!stop.signal.aborted) {
      await pace.wait(pods)
      lists.push(second)
    }
  }
  const listed = listPods()
  for (; second < 40; second += 1) {
    if (endings.includes(second)) pace.hurry()
    await turn()
    mock.timers.tick(1000)
  }
  stop.abort()
  await listed
  mock.timers.reset()
  t.equal(lists.pop(), 40, 'the signal ends the last wait')
  return lists
}

t.test('the pods are listed more rarely if there are many', async (t) => {
  t.strictSame((await listsOf(t, 10, [])).slice(0, 3), [2, 4, 6])
  t.strictSame(await listsOf(t, 1000, []), [10, 20, 30])
  t.strictSame(await listsOf(t, 100_000, []), [30])
})

t.test('the pods are listed earlier after a log has ended', async (t) => {
  t.strictSame(await listsOf(t, 1000, [5]), [5, 15, 25, 35])
  t.strictSame(await listsOf(t, 1000, [1]), [2, 12, 22, 32])
})

t.test('of two lists, at most one is early', async (t) => {
  const always = Array.from({ length: 40 }, (_, second) => second)
  t.strictSame(await listsOf(t, 1000, always), [2, 12, 14, 24, 26, 36, 38])
})

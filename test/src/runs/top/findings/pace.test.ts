import t from 'tap'
import { createPace } from '../../../../../src/runs/top/findings/pace.ts'

/** Calls a pace every half second for a minute, and returns when the turns began, in ms. */
function turnsOf(lengthMs: number, isDone = true): readonly number[] {
  let now = 0
  const pace = createPace(() => now)
  const turns: number[] = []
  for (let at = 0; at <= 60_000; at += 500) {
    now = at
    pace(() => {
      turns.push(at)
      now += lengthMs
      return isDone
    })
  }
  return turns
}

t.test('short turns are a second apart, and long ones take a twentieth of the time', async (t) => {
  t.equal(turnsOf(1)[1], 1500)
  const [first = 0, second = 0] = turnsOf(300)
  t.equal(second - first, 6500)
})

t.test('a turn that did nothing is followed by another one at once', async (t) => {
  t.equal(turnsOf(1, false)[1], 500)
})

t.test('a long turn is reported', async (t) => {
  let now = 0
  const takes = (ms: number) =>
    createPace(() => now)(() => {
      now += ms
      return true
    })
  t.strictSame([10, 300].map(takes), [false, true])
})

import t from 'tap'
import { createSweepClock } from '../../../../cli/archive/service/sweep-clock.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const START = Date.UTC(2026, 10, 28)

/** Starts a clock, and returns functions that let time pass and set both sources. */
function start() {
  let [steady, system, server] = [0, 0, 0]
  const clock = createSweepClock({
    steady: () => steady,
    system: () => START + steady + system,
  })
  return {
    clock,
    /** @param ahead by how many milliseconds the system and the apiserver are ahead */
    at(ms: number, ahead: { readonly system?: number; readonly server?: number } = {}) {
      steady = ms
      ;[system, server] = [ahead.system ?? 0, ahead.server ?? 0]
      clock.note(START + steady + server)
      return clock.now()
    },
  }
}

t.test('a system or an apiserver that is ahead does not count', async (t) => {
  const { clock, at } = start()
  t.equal(clock.now(), undefined, 'the apiserver has not answered')
  t.equal(at(0), START)
  t.equal(at(HOUR, { system: 31 * DAY }), START + HOUR)
  t.equal(at(2 * HOUR, { server: 31 * DAY }), START + 2 * HOUR)
  clock.note(Number.NaN)
  t.equal(at(3 * HOUR), START + 3 * HOUR)
})

t.test('nothing is deleted for an hour after a jump', async (t) => {
  const { at } = start()
  const ahead = { system: 31 * DAY, server: 31 * DAY }
  t.equal(at(0), START)
  t.equal(at(1000, ahead), undefined)
  t.equal(at(HOUR, ahead), undefined)
  t.equal(at(HOUR + 2000), START + HOUR + 2000, 'a jump back deletes nothing')
})

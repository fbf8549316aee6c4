import t from 'tap'
import { reportModel } from '../../../../src/runs/report/data.ts'
import { STATES } from '../../../../src/runs/report/first-screen/activity-data.ts'
import { addTime, newRun } from '../../../../src/runs/report/gather.ts'
import type { CollectedTime } from '../../../../src/runs/time/collected-time.ts'
import { onlyTime } from '../../../../src/runs/time/collected-time.ts'
import { readRecorded, recordedLogs } from '../report/recorded-run.ts'
import { timeOf } from './time-of.ts'

const collected = (running: number, isOver: boolean, workload = 'job/lammps'): CollectedTime => ({
  ...timeOf({ running }),
  ...{ workload, isOver, attempts: [] },
})

/** Returns the running seconds of the time that a run with these times has. */
function secondsOf(...times: readonly (CollectedTime | null)[]): number | null {
  const run = newRun()
  for (const time of times) addTime(run, time)
  return onlyTime(run.times)?.seconds.running ?? null
}

t.test('the latest time of a run counts, and that after its end before all others', async (t) => {
  t.equal(secondsOf(), null)
  t.equal(secondsOf(null, collected(5, false), collected(9, false), collected(7, false)), 9)
  // The last look before the end is later than the end of the last container.
  t.equal(secondsOf(collected(9, false), collected(8, true)), 8)
  t.equal(secondsOf(collected(8, true), collected(9, false)), 8)
})

t.test('logs of several workloads have no common time', async (t) => {
  t.equal(secondsOf(collected(5, true), collected(5, true, 'job/other')), null)
})

for (const name of ['healthy', 'throttled', 'oversubscribed', 'sleeping', 'storage', 'neighbor']) {
  t.test(
    `the running time of ${name} has the parts that the page of its report shows`,
    async (t) => {
      const run = readRecorded(recordedLogs(name))
      addTime(run, collected(1e6, true))
      const { time, page } = reportModel(run, 'auto')
      const running = time?.running?.seconds
      if (running === undefined) throw new Error('the efficiency is known')
      const { unknown, ...states } = running
      t.strictSame(Object.keys(states), [...STATES])
      const known = 1e6 - unknown
      const percents = Object.values(states).map((seconds) => (100 * (seconds ?? 0)) / known)
      for (const [index, percent] of percents.entries())
        t.ok(Math.abs(percent - (page.activity.means[index] ?? 0)) < 0.01, `${STATES[index]}`)
    },
  )
}

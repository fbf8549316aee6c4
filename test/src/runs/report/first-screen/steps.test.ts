import t from 'tap'
import {
  addAmounts,
  amountsOf,
  counterSteps,
  intervalSteps,
} from '../../../../../src/runs/report/first-screen/steps.ts'
import { addPoint, newTrack } from '../../../../../src/runs/report/track.ts'

/** Returns a track with samples of one measure: the seconds, the interval and the value. */
function trackOf(...samples: readonly (readonly [number, number | null, number | null])[]) {
  const track = newTrack({ source: 'a', program: 'lmp', pid: 1 }, 1)
  for (const [seconds, interval, value] of samples) addPoint(track, { seconds, interval }, [value])
  return track
}

t.test('a rate of a counter is about the time since the previous sample', async (t) => {
  const track = trackOf([0, 5, null], [5, 5, 0.5], [12, 5, 1], [15, 5, null])
  t.strictSame(
    [...counterSteps(track, 0, 100)],
    [
      { from: 100, to: 105, rate: 0.5 },
      { from: 105, to: 112, rate: 1 },
    ],
  )
})

t.test('a value of an interval is about the interval before its sample', async (t) => {
  const track = trackOf([0, null, 9], [10, 4, 0.5], [20, 4, null])
  t.strictSame([...intervalSteps(track, 0, 1)], [{ from: 7, to: 11, rate: 0.5 }])
})

t.test('a step is divided between its buckets, and starts with the run', async (t) => {
  const steps = [{ from: -2, to: 15, rate: 2 }]
  t.strictSame(amountsOf(steps, { count: 3, width: 10 }), {
    sums: [20, 10, 0],
    covered: [10, 5, 0],
  })
})

t.test('processes are added up, but not the time that they cover', async (t) => {
  const buckets = { count: 1, width: 10 }
  const all = [10, 5].map((to) => () => [{ from: 0, to, rate: 1 }])
  t.strictSame(addAmounts(all, buckets), { sums: [15], covered: [10] })
})

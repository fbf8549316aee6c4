import t from 'tap'
import {
  computeMean,
  computeTotal,
  marksIn,
  median,
  standingOut,
} from '../../../src/lib/statistics.ts'

t.test('the median is the middle value, or the mean of the two middle values', async (t) => {
  t.equal(median([]), null)
  t.equal(median([3]), 3)
  t.equal(median([9, 1, 2]), 2)
  t.equal(median([4, 1, 2, 9]), 3)
})

t.test('only an outlier among enough known values stands out', async (t) => {
  t.strictSame(standingOut([98, 97, 64, 99, 98], 2), [false, false, true, false, false])
  t.strictSame(standingOut([98, 97, 96, 99, 98], 2), Array(5).fill(false))
  t.strictSame(standingOut([0, 0, 0, 0.5, 0], 1), Array(5).fill(false), 'too small to matter')
  t.strictSame(standingOut([98, 98, 10], 2), Array(3).fill(false), 'three values are too few')
  t.strictSame(standingOut([98, 98, null, 98, 50], 2), [false, false, false, false, true])
})

t.test('values are compared only within their group', async (t) => {
  const things = [...'aaaabbbb'].map((group, at) => ({
    group,
    value: group === 'a' ? 90 : at === 7 ? 60 : 5,
  }))
  const marks = marksIn(
    things,
    ({ group }) => group,
    ({ value }) => [value, value],
    [1, null],
  )
  t.strictSame(
    marks.map(([first]) => first),
    [...Array(7).fill(false), true],
  )
  t.ok(marks.every(([, never]) => never === false))
})

t.test('a total is known only if every part is known', async (t) => {
  t.equal(computeTotal([10, 20], [10, 5]), 200)
  t.equal(computeTotal([10, null], [10, 5]), null)
  t.equal(computeTotal([10, 20], [10, null]), null)
  t.equal(computeTotal([], []), null)
})

t.test('a mean is weighted by the interval of each sample', async (t) => {
  t.equal(computeMean([100, 0], [30, 10]), 75)
  t.equal(computeMean([100, null], [30, 10]), 100)
  t.equal(computeMean([100, 0], [null, null]), 50)
  t.equal(computeMean([null], [1]), null)
})

import fc from 'fast-check'
import t from 'tap'
import { chooseGrid, NOTHING, onGrid } from '../../../../src/runs/report/grid.ts'
import type { Track } from '../../../../src/runs/report/track.ts'

function trackOf(seconds: number[], interval = 10): Track {
  return {
    source: 'a',
    program: 'p',
    pid: 1,
    container: null,
    seconds,
    intervals: seconds.map(() => interval),
    values: [],
  }
}

const every = (count: number) => Array.from({ length: count }, (_, index) => index * 10)

t.test('every sample of a short run is drawn', async (t) => {
  const grid = chooseGrid(30, 10, 4, 6)
  t.strictSame(grid, { buckets: 4, width: 10, isDownsampled: false })
  t.strictSame(onGrid(trackOf(every(4)), [1, null, 0, 3], grid, 0), [1, null, 0, 3])
  t.strictSame(onGrid(trackOf(every(3)), [1, 2, 3], grid, 10), [NOTHING, 1, 2, 3], '10 s later')
})

t.test('a line has a gap while its process is missing, but not for a late sample', async (t) => {
  const grid = chooseGrid(90, 10, 1, 1)
  const values = onGrid(trackOf([0, 10, 60, 70]), [1, 2, 3, 4], grid, 0)
  t.strictSame(values, [1, 2, null, NOTHING, NOTHING, NOTHING, 3, 4, NOTHING, NOTHING])
  const stretched = { ...trackOf([0, 10, 50, 90]), intervals: [10, 10, 40, 40] }
  t.notOk(
    onGrid(stretched, [1, 2, 3, 4], grid, 0).includes(null),
    'a late sample with a longer interval leaves no gap',
  )
})

t.test('the minimum and the maximum of each bucket are kept, in the order of time', async (t) => {
  const grid = { buckets: 2, width: 50, isDownsampled: true }
  t.strictSame(onGrid(trackOf(every(10)), [5, 9, 1, 3, 2, 4, 4, 4, 4, 4], grid, 0), [
    9,
    1,
    4,
    NOTHING,
  ])
  const arbitrary = fc.array(fc.option(fc.integer({ min: 0, max: 999 })), {
    minLength: 1,
    maxLength: 200,
  })
  fc.assert(
    fc.property(arbitrary, fc.integer({ min: 1, max: 40 }), (values, buckets) => {
      const width = (values.length * 10) / buckets
      const drawn = onGrid(
        trackOf(every(values.length)),
        values,
        { buckets, width, isDownsampled: true },
        0,
      )
      const known = values.filter((value) => value !== null)
      const kept = drawn.flatMap((value) => (value === NOTHING ? [] : (value ?? [])))
      return (
        Math.min(...kept) === Math.min(...known) &&
        Math.max(...kept) === Math.max(...known) &&
        kept.every((value) => known.includes(value)) &&
        drawn.length <= buckets * 2
      )
    }),
  )
})

t.test('the size of a page is limited for every run', async () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 1e6 }),
      fc.integer({ min: 1, max: 60 }),
      fc.integer({ min: 1, max: 2000 }),
      (duration, interval, lines) => {
        const { buckets, width, isDownsampled } = chooseGrid(duration, interval, lines, 6)
        const isBounded = buckets * lines * 12 <= Math.max(1_200_000, 24 * lines * 12)
        return isBounded && (!isDownsampled || (buckets * width >= duration && width > interval))
      },
    ),
  )
})

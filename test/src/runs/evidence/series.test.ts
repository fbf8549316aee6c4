import t from 'tap'
import { Series } from '../../../../src/runs/evidence/series.ts'

t.test('of a long series, at most 127 values are kept, evenly spread from the first', async (t) => {
  const series = new Series()
  for (let seconds = 0; seconds < 10_000; seconds++) series.add({ seconds, value: seconds * 2 })
  const { points } = series
  t.ok(points.length >= 64 && points.length < 128, `${points.length}`)
  t.strictSame(points[0], { seconds: 0, value: 0 })
  const steps = new Set(
    points.slice(1).map((point, at) => point.seconds - (points[at]?.seconds ?? 0)),
  )
  t.equal(steps.size, 1)
  t.ok((points.at(-1)?.seconds ?? 0) > 9800)
})

import t from 'tap'
import { medianInterval } from './median-interval.ts'

t.test('the limits are those of the table of the binomial distribution', async (t) => {
  const upTo = (count: number) => Array.from({ length: count }, (_, at) => count - at)
  t.equal(medianInterval(upTo(5)), undefined)
  // The first values below 0.025 of the distributions with 6, 20 and 50 throws.
  t.strictSame(medianInterval(upTo(6)), [1, 6])
  t.strictSame(medianInterval(upTo(20)), [6, 15])
  t.strictSame(medianInterval(upTo(50)), [18, 33])
})

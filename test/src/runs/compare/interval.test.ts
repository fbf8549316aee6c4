import fc from 'fast-check'
import t from 'tap'
import { median } from '../../../../src/lib/statistics.ts'
import {
  medianDistribution,
  ratioInterval,
  ratioOf,
} from '../../../../src/runs/compare/interval.ts'
import { draw, randomNumbers } from './draws.ts'

const exact = (values: readonly number[]) => ({ values, resolution: 0 })

t.test('the distribution of a median is that of medians of random resamples', async (t) => {
  const random = randomNumbers(1)
  for (const values of [
    [3],
    [1, 2],
    [5, 1, 9, 2, 7],
    [4, 4, 8, 1, 6, 2],
    [1, 2, 3, 4, 5, 6, 7, 8],
  ]) {
    const distribution = medianDistribution(values)
    const whole = distribution.reduce((sum, [, probability]) => sum + probability, 0)
    t.ok(Math.abs(whole - 1) < 1e-6, `the probabilities of ${values} add up to 1`)
    const resample = () => values.map(() => values[Math.floor(random() * values.length)] ?? 0)
    const drawn = Array.from({ length: 20_000 }, () => median(resample()) ?? 0)
    for (const limit of new Set(distribution.map(([value]) => value))) {
      const known = distribution.filter(([value]) => value <= limit)
      const expected = known.reduce((sum, [, probability]) => sum + probability, 0)
      const found = drawn.filter((value) => value <= limit).length / drawn.length
      // Five standard errors of 20,000 draws are at most 0.018.
      t.ok(Math.abs(found - expected) < 0.018, `${values} up to ${limit}: ${found}, ${expected}`)
    }
  }
})

t.test('of five and five equal runs, 3.2 % of all orders are called different', async (t) => {
  const orders = choices([0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 5)
  t.equal(orders.length, 252)
  const different = orders.filter((first) => {
    const second = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].filter((value) => !first.includes(value))
    const plusOne = (values: readonly number[]) => exact(values.map((value) => value + 1))
    const { lower, upper } = ratioInterval(plusOne(first), plusOne(second))
    return lower > 1 || upper < 1
  })
  t.equal(different.length, 8)
})

function choices(items: readonly number[], count: number): readonly (readonly number[])[] {
  if (count === 0) return [[]]
  const [first, ...others] = items
  if (first === undefined) return []
  return [...choices(others, count - 1).map((one) => [first, ...one]), ...choices(others, count)]
}

t.test('to exchange the sides inverts the interval', async (t) => {
  const values = fc.array(
    fc.oneof(fc.constant(0), fc.double({ min: 1e-3, max: 1e6, noNaN: true })),
    {
      minLength: 1,
      maxLength: 9,
    },
  )
  const repeated = fc.record({ values, resolution: fc.constantFrom(0, 0.5, 10) })
  fc.assert(
    fc.property(repeated, repeated, (a, b) => {
      const [there, back] = [ratioInterval(a, b), ratioInterval(b, a)]
      const isInverse = (one: number, other: number) =>
        one === 0 || other === 0 ? ratioOf(1, one) === other : Math.abs(one * other - 1) < 1e-9
      return isInverse(there.lower, back.upper) && isInverse(there.upper, back.lower)
    }),
    { seed: 1 },
  )
  t.pass()
})

t.test('a change that is not larger than the interval between samples is not shown', async (t) => {
  const [base, other] = [Array(9).fill(10), Array(9).fill(11)]
  t.match(ratioInterval(exact(base), exact(other)), { lower: 1.1, upper: 1.1 })
  const { lower, upper } = ratioInterval(
    { values: base, resolution: 1 },
    { values: other, resolution: 1 },
  )
  t.strictSame([lower, upper], [1, 1.2])
})

t.test('a side with zeros has no limit above', async (t) => {
  const zeros = exact([0, 0, 0, 0, 0])
  t.strictSame(ratioInterval(zeros, exact([4, 5, 6, 5, 4])).lower, Number.POSITIVE_INFINITY)
  t.strictSame(ratioInterval(zeros, zeros), { lower: 1, upper: 1 })
  t.strictSame(ratioInterval(exact([1, 2, 3, 4, 5]), zeros), { lower: 0, upper: 0 })
})

t.test('draws have no item twice', async (t) => {
  const drawn = draw([1, 2, 3, 4], 4, randomNumbers(3))
  t.strictSame([...drawn].sort(), [1, 2, 3, 4])
})

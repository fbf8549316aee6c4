import t from 'tap'
import { rounded, roundedForReader, roundTo, withoutNoise } from '../../../src/lib/round.ts'

t.test('numbers are rounded to significant digits, and other values stay', async (t) => {
  t.strictSame(
    [1234567.8, 0.000123456789, -2.00000049, 0].map(rounded),
    [1234570, 0.000123457, -2, 0],
  )
  t.strictSame([null, '', undefined].map(rounded), [null, '', undefined])
  t.equal(roundTo(0.12345, 3), 0.123)
})

t.test('the errors of floating-point numbers are removed, and nothing else', async (t) => {
  t.equal(withoutNoise(0.1 + 0.2), 0.3)
  t.equal(withoutNoise(123_456_789_012), 123_456_789_012)
})

t.test('a number for a reader has three digits, or is an integer', async (t) => {
  const values = [0.012345, 12.345, 999.4, 999.6, 1234.5, -1234.4]
  t.strictSame(values.map(roundedForReader), [0.0123, 12.3, 999, 1000, 1235, -1234])
})

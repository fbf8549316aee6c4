import fc from 'fast-check'
import t from 'tap'
import { messageField, numberField, numbersField, textField } from '../../../src/lib/protobuf.ts'

const hex = (bytes: readonly number[]) => Buffer.from(bytes).toString('hex')

t.test('the examples of the description of the format are encoded in the same way', async (t) => {
  // protobuf.dev/programming-guides/encoding: Test1, Test2, Test3 and Test5.
  t.equal(hex(numberField(1, 150)), '089601')
  t.equal(hex(textField(2, 'testing')), '120774657374696e67')
  t.equal(hex(messageField(3, [numberField(1, 150)])), '1a03089601')
  t.equal(hex(numbersField(6, [3, 270, 86_942])), '3206038e029ea705')
})

t.test('zero, and text that is not ASCII, are encoded', async (t) => {
  t.equal(hex(numberField(1, 0)), '0800')
  t.equal(hex(numbersField(1, [0])), '0a0100')
  t.equal(hex(textField(1, 'ü')), '0a02c3bc')
  t.equal(hex(textField(1, '')), '0a00')
})

t.test('whole numbers up to 2^53 - 1 can be decoded', async (t) => {
  fc.assert(
    fc.property(fc.maxSafeNat(), (value) => {
      const [, ...bytes] = numberField(1, value)
      const decoded = bytes.reduceRight((sum, byte) => sum * 128n + BigInt(byte & 127), 0n)
      t.equal(decoded, BigInt(value))
      t.ok(bytes.every((byte, index) => byte >= 128 === index < bytes.length - 1))
    }),
  )
})

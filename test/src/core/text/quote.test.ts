import t from 'tap'
import { quote } from '../../../../src/core/text/quote.ts'

t.test('quote() returns a text in double quotes, as printable ASCII', async (t) => {
  const rows: [string, string][] = [
    ['lmp', '"lmp"'],
    ['', '""'],
    ['a b', '"a b"'],
    ['say "hi"', '"say \\"hi\\""'],
    ['back\\slash', '"back\\\\slash"'],
    ['\u001b[2J', '"?[2J"'],
    ['a\r\nb\tc\0', '"a??b?c?"'],
    ['\u007f', '"?"'],
    ['größe', '"gr??e"'],
    ['🚀', '"??"'],
    ['\u202e', '"?"'],
    [' ~', '" ~"'],
  ]
  for (const [text, quoted] of rows) t.equal(quote(text), quoted, JSON.stringify(text))
})

t.test('quote() cuts a text of more than 64 characters, and ends it with three dots', async (t) => {
  t.equal(quote('x'.repeat(64)), `"${'x'.repeat(64)}"`)
  t.equal(quote('x'.repeat(65)), `"${'x'.repeat(64)}..."`)
  t.equal(quote('x'.repeat(1_000_000)), `"${'x'.repeat(64)}..."`)
})

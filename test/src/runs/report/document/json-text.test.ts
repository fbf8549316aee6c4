import t from 'tap'
import { jsonText } from '../../../../../src/runs/report/document/json-text.ts'

t.test('a list of numbers and texts is one line', async (t) => {
  const value = { a: [1, null, 'b'], c: [{ d: 2 }], e: {}, f: [], g: undefined, h: '\u2028"' }
  const text = jsonText(value)
  t.strictSame(JSON.parse(text), JSON.parse(JSON.stringify(value)))
  t.equal(text.split('\n')[1], '  "a": [1, null, "b"],')
})

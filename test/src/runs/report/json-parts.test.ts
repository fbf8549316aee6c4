import t from 'tap'
import { jsonParts } from '../../../../src/runs/report/json-parts.ts'

const VALUE = { a: [1, null, 'b'], c: [{ d: 2 }], e: {}, f: [], g: undefined, h: '\u2028"' }
const INDENTED = { indent: '  ', quote: JSON.stringify } as const
const COMPACT = { indent: '', quote: JSON.stringify } as const

t.test('indented, a list of numbers and texts is one line', async (t) => {
  const text = [...jsonParts(VALUE, INDENTED)].join('')
  t.strictSame(JSON.parse(text), JSON.parse(JSON.stringify(VALUE)))
  t.equal(text.split('\n')[1], '  "a": [1, null, "b"],')
  t.equal(text.split('\n')[3], '    {', 'other lists have a line for each item')
})

t.test('without indentation, the text is that of JSON.stringify', async (t) => {
  t.equal([...jsonParts(VALUE, COMPACT)].join(''), JSON.stringify(VALUE))
})

t.test('texts and keys are quoted in the same way', async (t) => {
  const quote = (text: string) => `'${text}'`
  t.equal([...jsonParts({ a: ['b'] }, { indent: '', quote })].join(''), "{'a':['b']}")
})

t.test('large JSON has many parts of a similar length', async (t) => {
  const value = Array.from({ length: 20_000 }, (_, index) => ({ index, name: `pod ${index}` }))
  const parts = [...jsonParts(value, COMPACT)]
  t.equal(parts.join(''), JSON.stringify(value))
  t.ok(parts.length > 8, `${parts.length} parts`)
  for (const part of parts) t.ok(part.length < 70_000, `a part of ${part.length}`)
})

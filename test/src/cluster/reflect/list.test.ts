import fc from 'fast-check'
import t from 'tap'
import { createListSplitter } from '../../../../src/cluster/reflect/list.ts'

const item = fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue({ depthSize: 'medium' }))
const metadata = fc.dictionary(fc.string(), fc.jsonValue())

/** Pushes a text in parts that end at these shares of its length, and parses the results. */
function split(text: string, cuts: readonly number[]) {
  const splitter = createListSplitter()
  const places = [0, ...cuts.map((cut) => Math.round(cut * text.length)), text.length]
  const sorted = places.toSorted((a, b) => a - b)
  const items = sorted.slice(1).flatMap((end, place) => {
    return splitter.push(text.slice(sorted[place], end))
  })
  return { items: items.map((each) => JSON.parse(each)), rest: JSON.parse(splitter.rest()) }
}

const share = fc.double({ min: 0, max: 1, noNaN: true })

t.test('a list has the same items and metadata, wherever its text is cut', async (t) => {
  const run = (
    items: readonly object[],
    about: object,
    indent: number,
    isFirst: boolean,
    cuts: readonly number[],
  ) => {
    const whole = isFirst
      ? { items, metadata: about, kind: 'List' }
      : { kind: 'List', metadata: about, items }
    const found = split(JSON.stringify(whole, undefined, indent), cuts)
    const expected = JSON.parse(JSON.stringify(whole))
    t.strictSame(found, { items: expected.items, rest: { ...expected, items: [] } })
  }
  fc.assert(
    fc.property(
      ...([
        fc.array(item),
        metadata,
        fc.constantFrom(0, 2),
        fc.boolean(),
        fc.array(share),
      ] as const),
      run,
    ),
    { numRuns: 500 },
  )
})

t.test('a list without items, and other arrays', async (t) => {
  const list = { items: null, others: [{ items: [{ name: 'a' }] }], more: { items: [{}] } }
  t.strictSame(split(JSON.stringify(list), [0.5]), { items: [], rest: list })
})

t.test('the rest of an incomplete list is not valid', async (t) => {
  const text = JSON.stringify({ kind: 'List', items: [{ name: 'a' }, { name: 'b' }] })
  for (let length = 1; length < text.length; length += 1) {
    const splitter = createListSplitter()
    splitter.push(text.slice(0, length))
    t.throws(() => JSON.parse(splitter.rest()), { name: 'SyntaxError' }, `${length} characters`)
  }
})

t.test('escape sequences can be cut at any place', async (t) => {
  const list = { items: [{ '"}\\': ['\\"]', '\\', '"'] }, { name: '\\\\"{' }], kind: '"items":[' }
  const text = JSON.stringify(list)
  const expected = { items: list.items, rest: { ...list, items: [] } }
  for (let length = 0; length <= text.length; length += 1) {
    // Two cuts at the same place give an empty part.
    const cut = length / text.length
    t.strictSame(split(text, [cut, cut]), expected, `the text is cut after ${length} characters`)
  }
  const everywhere = Array.from(text, (_, length) => length / text.length)
  t.strictSame(split(text, everywhere), expected, 'the text is cut after each character')
})

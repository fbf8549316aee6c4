import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import {
  ascii,
  MAX_LINE_LENGTH,
  printable,
  printableBlock,
  printableJson,
} from '../../../../src/core/text/printable.ts'

/**
 * Matches control characters, lone surrogates, line separators, and characters that reorder text.
 */
const HARMFUL =
  /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]/u

/** Generates texts of hostile and other characters. */
const hostile = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((n) => String.fromCharCode(n)) }),
      fc.constantFrom(
        '\u001b]0;PWNED\u0007',
        '\u001b[2J',
        '\u009b2J',
        '\u202e',
        '\u2066',
        '\u061c',
        '\r\n',
        '\u2028',
        '\ud800',
        '\udc00',
        '\u200d',
        '\ufe0f',
        '👩‍🚀',
        '\u{e0041}',
      ),
    ),
  )
  .map((parts) => parts.join(''))

t.test(
  'printable() escapes harmful and invisible characters, and keeps all other text',
  async (t) => {
    const rows: [string, string][] = [
      ['', ''],
      ['lmp -in in.lj', 'lmp -in in.lj'],
      ['C:\\new "x"', 'C:\\new "x"'],
      ['Größe, Ελληνικά, 中文, русский, 🚀', 'Größe, Ελληνικά, 中文, русский, 🚀'],
      ['👩‍👩‍👧 ❤️ 👍🏽', '👩‍👩‍👧 ❤️ 👍🏽'],
      ['می‌خواهم क्‍ष', 'می‌خواهم क्‍ष'],
      ['\u001b]0;PWNED\u0007', '\\u001b]0;PWNED\\u0007'],
      ['\u001b[2J', '\\u001b[2J'],
      ['\u009b2J', '\\u009b2J'],
      ['a\nb', 'a\\nb'],
      ['100 %\rdone', '100 %\\rdone'],
      ['a\tb', 'a\\tb'],
      ['a\u0000\u007fb', 'a\\u0000\\u007fb'],
      ['\u202egpj.exe', '\\u202egpj.exe'],
      ['\u2066\u200e\u200f\u061c', '\\u2066\\u200e\\u200f\\u061c'],
      ['a\u2028b\u2029c', 'a\\u2028b\\u2029c'],
      ['ad\u200bmin, ad\u200cmin, ad\u200dmin', 'ad\\u200bmin, ad\\u200cmin, ad\\u200dmin'],
      ['x\u00ady\ufeffz\u3164', 'x\\u00ady\\ufeffz\\u3164'],
      ['\ud800 \udc00', '\\ud800 \\udc00'],
      ['x\u{e0041}', 'x\\u{e0041}'],
      ['x\ufe0f', 'x\\ufe0f'],
      ['x\ufff9', 'x\\ufff9'],
    ]
    // Readers of TAP treat some of these characters as the end of a line. Therefore the message is
    // the escaped text.
    for (const [text, expected] of rows) t.equal(printable(text), expected, expected)
  },
)

t.test('printable() cuts a text that is too long, and ends it with three dots', async (t) => {
  t.equal(printable('x'.repeat(8), 8), 'x'.repeat(8))
  t.equal(printable('x'.repeat(9), 8), 'xxxxx...')
  t.equal(printable('\u001b'.repeat(3), 9), '\\u001b...')
  t.equal(printable(`xxxx🚀${'x'.repeat(9)}`, 8), 'xxxx...', 'an emoji is not split')
  t.equal(printable('x'.repeat(9), 2), '..')
  t.equal(printable('x'.repeat(1_000_000)).length, MAX_LINE_LENGTH)
})

t.test(
  'the result of printable() is harmless, not too long, and unchanged by a second call',
  (t) => {
    fc.assert(
      fc.property(hostile, fc.nat(300), (text, longest) => {
        const shown = printable(text, longest)
        return (
          !HARMFUL.test(shown) && shown.length <= longest && printable(shown, longest) === shown
        )
      }),
      { numRuns: 5000 },
    )
    t.end()
  },
)

t.test('printable() does not change plain text', (t) => {
  const plain = fc.string({
    unit: fc.oneof(
      fc.integer({ min: 0x20, max: 0x7e }).map((n) => String.fromCharCode(n)),
      fc.constantFrom('é', 'ß', 'Ω', '中', '文', 'ж', '🚀', '…', '–', '█', '\u00a0'),
    ),
    maxLength: 1000,
  })
  fc.assert(fc.property(plain, (text) => printable(text) === text))
  t.end()
})

t.test('printableBlock() keeps line feeds and tabs, and escapes other control characters', (t) => {
  t.equal(printableBlock('a:\tb\r\nc: \u001b[2J\n'), 'a:\tb\nc: \\u001b[2J\n')
  t.equal(printableBlock('a\rb\u0085c'), 'a\\rb\\u0085c')
  fc.assert(
    fc.property(hostile, (text) => !HARMFUL.test(printableBlock(text).replace(/[\n\t]/g, ''))),
  )
  t.end()
})

t.test('printableJson() returns JSON of the same value, with harmless characters only', (t) => {
  t.equal(printableJson({ a: '\u009b2J\u202e' }), '{"a":"\\u009b2J\\u202e"}')
  t.equal(printableJson('\u{e0041}'), '"\\udb40\\udc41"')
  t.equal(printableJson({ a: [1] }, 2), '{\n  "a": [\n    1\n  ]\n}')
  fc.assert(
    fc.property(fc.array(hostile), (value) => {
      const json = printableJson(value)
      return !HARMFUL.test(json) && isDeepStrictEqual(JSON.parse(json), value)
    }),
  )
  t.end()
})

t.test('the result of ascii() is printable ASCII, and not too long', (t) => {
  t.equal(ascii('größe \u001b[2J', 64), 'gr??e ?[2J')
  t.equal(ascii('x'.repeat(9), 8), 'xxxxx...')
  fc.assert(
    fc.property(hostile, fc.nat(99), (text, longest) => {
      const shown = ascii(text, longest)
      return /^[\x20-\x7e]*$/.test(shown) && shown.length <= longest
    }),
  )
  t.end()
})

t.test(
  'half a megabyte of text is made printable in linear time',
  { timeout: 300_000 },
  async (t) => {
    // With quadratic time, one of these texts would take minutes.
    const texts = ['\u001b', '\u200d', '\ufe0f', '🚀\u200d', 'क\u200d', '\ud800', '\r', 'x']
    for (const [index, text] of texts.entries()) {
      const long = text.repeat((512 * 1024) / text.length)
      t.ok(printableBlock(long).length > 256 * 1024, `text ${index}`)
      t.ok(printable(long, 512).length <= 512)
    }
  },
)

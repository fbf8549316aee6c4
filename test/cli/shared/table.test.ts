import t from 'tap'
import { formatText } from '../../../cli/shared/table.ts'

const WORDS = 'one two three four five six seven eight nine ten'

t.test(
  'columns are aligned, and the last column is wrapped at the width of the terminal',
  async (t) => {
    const rows = [
      ['ok', 'a name', 'short'],
      ['unknown', 'b', WORDS],
      ['', '', WORDS],
    ]
    t.strictSame(formatText([{ indent: 2, rows }], { width: 44 }), [
      '  ok       a name  short',
      '  unknown  b       one two three four five',
      '                   six seven eight nine ten',
      '                   one two three four five',
      '                   six seven eight nine ten',
    ])
    t.strictSame(formatText([{ indent: 0, rows }]), [
      'ok       a name  short',
      `unknown  b       ${WORDS}`,
      `                 ${WORDS}`,
    ])
  },
)

t.test('all lines of a wrapped paragraph except the first are indented', async (t) => {
  t.strictSame(formatText([WORDS, '', { text: WORDS, tone: 'heading' }], { width: 32 }), [
    'one two three four five six',
    '  seven eight nine ten',
    '',
    'one two three four five six',
    '  seven eight nine ten',
  ])
})

t.test(
  'words are not split, and a column narrower than 24 characters is not wrapped',
  async (t) => {
    const long = `see ${'x'.repeat(50)} there`
    t.strictSame(formatText([long], { width: 40 }), ['see', `  ${'x'.repeat(50)}`, '  there'])
    const rows = [['name', WORDS]]
    t.strictSame(formatText([{ indent: 0, rows }], { width: 29 }), [`name  ${WORDS}`])
  },
)

t.test('control characters and line feeds are escaped in cells and in paragraphs', async (t) => {
  const rows = [['\u001b[2J', 'a\nb']]
  t.strictSame(formatText([{ indent: 0, rows }, 'c\rd']), ['\\u001b[2J  a\\nb', 'c\\rd'])
})

t.test('a row with an empty last cell has no trailing spaces', async (t) => {
  const rows = [
    ['a', ''],
    ['bcd', 'e'],
  ]
  t.strictSame(formatText([{ indent: 0, rows }]), ['a', 'bcd  e'])
  t.strictSame(formatText([{ indent: 0, rows: [] }]), [])
})

import t from 'tap'
import type { TopColumn } from '../../../../src/runs/top/columns.ts'
import { formatState, formatValue, titleWithUnit } from '../../../../src/runs/top/format-value.ts'

const column = (unit: string, factor = 1): TopColumn => ({
  key: 'n',
  title: 'N',
  metric: 'm',
  section: 's',
  column: { name: 'n', type: 'number', meaning: '' },
  total: 'sum',
  factor,
  unit,
})

const VALUES: readonly (readonly [string, number | null, string])[] = [
  ['percent', 97.46, '97.5'],
  ['percent', 0, '0'],
  ['percent', 0.0123456, '0.0123'],
  ['percent', 12_345, '12345.0'],
  ['count', -3, '-3.0'],
  ['J/s', 2e12, '2.00e+12'],
  ['percent', null, '-'],
  ['KiB', 0, '0 B'],
  ['KiB', 1.5, '1.5 KiB'],
  ['KiB', 1024, '1.0 MiB'],
  ['bytes', 1023, '1023 B'],
  ['bytes', 1023.6, '1.0 KiB'],
  ['bytes', 123_456_789, '118 MiB'],
  ['bytes/s', 2048, '2.0 KiB/s'],
  ['KiB/s', 42_039.22, '41.1 MiB/s'],
  ['bytes', 2 ** 60, '1024 PiB'],
]

for (const [unit, value, text] of VALUES) {
  t.test(`the value ${value} in ${unit} is shown as ${text}`, async (t) => {
    t.equal(formatValue(column(unit), value), text)
  })
}

t.test('the factor converts a value to the unit of the table', async (t) => {
  t.equal(formatValue(column('percent', 100), 0.455), '45.5')
})

t.test('the title of a column contains the unit, unless the cells contain it', async (t) => {
  const titles = ['percent', 'Cel', 'J/s', 'count/s', 'ratio', 'KiB/s', ''].map((unit) =>
    titleWithUnit(column(unit)),
  )
  t.strictSame(titles, ['N %', 'N °C', 'N J/s', 'N /s', 'N', 'N', 'N'])
})

t.test('the state of a line is shown in words', async (t) => {
  const silent = (seconds: number) => formatState({ is: 'silent', ms: seconds * 1000 + 900 })
  t.strictSame(
    [silent(7), silent(119), silent(120), silent(7199), silent(7200)],
    ['7 s', '119 s', '2 min', '119 min 59 s', '2 h'].map((time) => `no rows for ${time}`),
  )
  t.equal(formatState({ is: 'ended' }), 'ended')
})

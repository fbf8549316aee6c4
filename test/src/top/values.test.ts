import t from 'tap'
import type { RowColumn } from '../../../src/core/catalog.ts'
import type { RowCells } from '../../../src/log/columns.ts'
import type { TopColumn } from '../../../src/top/columns.ts'
import { computeValue } from '../../../src/top/values.ts'

const column = (behavior: RowColumn['behavior'], total: TopColumn['total']): TopColumn => ({
  key: 'n',
  title: 'n',
  metric: 'm',
  section: 's',
  column: { name: 'n', type: 'number', meaning: '', ...(behavior && { behavior }) },
  total,
  factor: 1,
  unit: '',
})

const reading = (at: number, values: Readonly<Record<string, number | null>>) => ({
  at,
  rows: new Map(Object.entries(values).map(([key, n]): [string, RowCells] => [key, { key, n }])),
})
const section = (...readings: readonly ReturnType<typeof reading>[]) => ({
  before: readings.at(-2),
  now: readings.at(-1),
  isPartial: false,
})
const all = () => true

t.test(
  'gauges are added, or the greatest is chosen, without values that are not known',
  async (t) => {
    const rows = section(reading(1000, { a: 2, b: null, c: 5 }))
    t.equal(computeValue(column('gauge', 'sum'), rows, all), 7)
    t.equal(computeValue(column('gauge', 'greatest'), rows, all), 5)
    t.equal(computeValue(column('gauge', 'greatest'), section(reading(0, { a: -2 })), all), -2)
    t.equal(
      computeValue(column('gauge', 'sum'), rows, ({ key }) => key === 'a'),
      2,
    )
  },
)

t.test('a value that is not known is null, and zero is zero', async (t) => {
  t.equal(computeValue(column('gauge', 'sum'), section(reading(1000, { a: null })), all), null)
  t.equal(computeValue(column('gauge', 'sum'), section(reading(1000, {})), all), null)
  t.equal(computeValue(column('gauge', 'sum'), section(), all), null)
  t.equal(computeValue(column('gauge', 'sum'), section(reading(1000, { a: 0 })), all), 0)
})

t.test('a counter is its growth per second between the last two timepoints', async (t) => {
  const counter = column('counter', 'sum')
  const grown = section(reading(1000, { a: 2, b: 1 }), reading(3000, { a: 5, b: 1, c: 9 }))
  t.equal(computeValue(counter, grown, all), 1.5, 'a row that is new has no growth')
  t.equal(
    computeValue(counter, section(reading(1000, { a: 2 })), all),
    null,
    'one timepoint shows no growth',
  )
  const restarted = section(reading(1000, { a: 10 }), reading(2000, { a: 4 }))
  t.equal(computeValue(counter, restarted, all), 4, 'a counter that is less has started again')
  const still = section(reading(1000, { a: 1 }), reading(1000, { a: 2 }))
  t.equal(computeValue(counter, still, all), null, 'no time has passed')
  const hidden = section(reading(1000, { a: null }), reading(2000, { a: 2 }))
  t.equal(computeValue(counter, hidden, all), null)
})

t.test('a timepoint of which rows may be missing has no value', async (t) => {
  const partial = { ...section(reading(1000, { a: 2 })), isPartial: true }
  t.equal(computeValue(column('gauge', 'sum'), partial, all), null)
})

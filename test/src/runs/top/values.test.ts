import t from 'tap'
import type { RowColumn } from '../../../../src/core/catalog.ts'
import type { TopColumn } from '../../../../src/runs/top/columns.ts'
import { buildSection, type LiveRow } from '../../../../src/runs/top/live-sections.ts'
import { computeValue } from '../../../../src/runs/top/values.ts'

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

const reading = (at: number, values: Readonly<Record<string, number | null>>) =>
  new Map(
    Object.entries(values).map(([key, n]): [string, LiveRow] => {
      return [key, { at, cells: { n, program: key } }]
    }),
  )
const section = (...readings: readonly ReturnType<typeof reading>[]) =>
  buildSection(readings.at(-1) ?? new Map(), readings.at(-2))

t.test(
  'gauges are added, or the greatest is chosen, without values that are not known',
  async (t) => {
    const rows = section(reading(1000, { a: 2, b: null, c: 5 }))
    t.equal(computeValue(column('gauge', 'sum'), rows, null), 7)
    t.equal(computeValue(column('gauge', 'greatest'), rows, null), 5)
    t.equal(computeValue(column('gauge', 'greatest'), section(reading(0, { a: -2 })), null), -2)
    t.equal(computeValue(column('gauge', 'sum'), rows, 'a'), 2)
    t.equal(computeValue(column('gauge', 'sum'), rows, 'z'), null)
  },
)

t.test('a value that is not known is null, and zero is zero', async (t) => {
  t.equal(computeValue(column('gauge', 'sum'), section(reading(1000, { a: null })), null), null)
  t.equal(computeValue(column('gauge', 'sum'), section(reading(1000, {})), null), null)
  t.equal(computeValue(column('gauge', 'sum'), section(), null), null)
  t.equal(computeValue(column('gauge', 'sum'), section(reading(1000, { a: 0 })), null), 0)
})

t.test('a counter is its growth per second between the last two timepoints', async (t) => {
  const counter = column('counter', 'sum')
  const grown = section(reading(1000, { a: 2, b: 1 }), reading(3000, { a: 5, b: 1, c: 9 }))
  t.equal(computeValue(counter, grown, null), 1.5, 'a row that is new has no growth')
  t.equal(
    computeValue(counter, section(reading(1000, { a: 2 })), null),
    null,
    'one timepoint shows no growth',
  )
  const restarted = section(reading(1000, { a: 10 }), reading(2000, { a: 4 }))
  t.equal(computeValue(counter, restarted, null), 4, 'a counter that is less has started again')
  const still = section(reading(1000, { a: 1 }), reading(1000, { a: 2 }))
  t.equal(computeValue(counter, still, null), null, 'no time has passed')
  const hidden = section(reading(1000, { a: null }), reading(2000, { a: 2 }))
  t.equal(computeValue(counter, hidden, null), null)
})

t.test('the growth of each row is divided by its own time', async (t) => {
  const now = new Map([...reading(3000, { a: 5 }), ...reading(9000, { b: 21 })])
  const before = reading(1000, { a: 1, b: 5 })
  t.equal(computeValue(column('counter', 'sum'), buildSection(now, before), null), 2 + 2)
})

t.test('the rows are grouped by program once', async (t) => {
  let reads = 0
  const rows = reading(
    1000,
    Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`p${n}`, n])),
  )
  const counted = new Map(
    [...rows].map(([key, { at, cells }]): [string, LiveRow] => {
      const row = {
        at,
        get cells() {
          reads += 1
          return cells
        },
      }
      return [key, row]
    }),
  )
  const one = buildSection(counted, undefined)
  const sum = column('gauge', 'sum')
  const values = [...rows.keys()].map((program) => computeValue(sum, one, program))
  t.strictSame(values.slice(0, 3), [0, 1, 2])
  t.equal(reads, 1000, 'each row is read once for the groups and once for its value')
})

import t from 'tap'
import { compareFigures, type Figure, renderRows } from './figures.ts'

const scan = (value: number, work: number, more: Partial<Figure> = {}): Figure => {
  return { name: 'scan', value, work, isOurs: true, ...more }
}

t.test('a figure may grow as much as its work, and a quarter more', async (t) => {
  const [row] = compareFigures([scan(1, 100)], [scan(12, 1000)])
  t.strictSame(row, {
    ...{ name: 'scan', small: 1, large: 12, work: 10, growth: 12, problem: undefined },
  })
})

t.test('a figure that grows faster than its work is reported', async (t) => {
  const [row] = compareFigures([scan(1, 100)], [scan(13, 1000)])
  t.equal(row?.problem, 'grows faster than its work')
})

t.test('a difference within the noise is not growth', async (t) => {
  const rows = (value: number) => compareFigures([scan(1, 1)], [scan(value, 1, { noise: 2 })])
  t.equal(rows(3)[0]?.problem, undefined)
  t.equal(rows(3.1)[0]?.problem, 'grows faster than its work')
})

t.test('a value above its limit is reported, however it grows', async (t) => {
  const rows = (value: number) => compareFigures([scan(9, 1)], [scan(value, 10, { most: 5 })])
  t.equal(rows(5)[0]?.problem, undefined)
  t.equal(rows(6)[0]?.problem, 'more than 5')
})

t.test('nothing missed is no problem, and one missed pod is', async (t) => {
  const rows = (value: number) => compareFigures([scan(0, 1)], [scan(value, 10, { most: 0 })])
  t.equal(rows(0)[0]?.problem, undefined)
  t.equal(rows(1)[0]?.problem, 'more than 0')
})

t.test('a value that was not measured is reported', async (t) => {
  const [row] = compareFigures([scan(1, 1)], [scan(Number.NaN, 10)])
  t.equal(row?.problem, 'not measured')
})

t.test('figures that do not depend on Ridealong are only shown', async (t) => {
  const [row] = compareFigures([scan(1, 1)], [scan(100, 1, { isOurs: false })])
  t.equal(row?.problem, undefined)
})

t.test('the table has a line for each figure', async (t) => {
  const text = renderRows(compareFigures([scan(1, 100)], [scan(130.4, 1000)]))
  t.strictSame(text.split('\n'), [
    'figure  small  large   work  growth',
    'scan     1.00    130  x10.0    x130  grows faster than its work',
  ])
})

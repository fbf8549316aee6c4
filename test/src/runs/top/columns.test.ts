import t from 'tap'
import { loadCatalog } from '../../../../src/catalog/load.ts'
import type { RowsDescription } from '../../../../src/core/catalog.ts'
import { descriptionsIn } from '../../../../src/runs/log/descriptions.ts'
import { chooseColumns } from '../../../../src/runs/top/columns.ts'
import { DEFAULT_COLUMNS } from '../../../../src/runs/top/default-columns.ts'

const KNOWN = descriptionsIn(await loadCatalog({}))

const FURNACE: RowsDescription = {
  format: 'jsonl',
  sections: ['zone', 'door'].map((name) => ({
    name,
    of: 'device',
    description: name,
    columns: [
      { name: 'id', type: 'text', key: true, meaning: 'its name' },
      { name: 'heat', type: 'number', unit: 'Cel', behavior: 'gauge', meaning: 'its heat' },
      { name: 'joules', type: 'number', unit: 'J', behavior: 'counter', meaning: 'its energy' },
    ],
  })),
}
const ALL = new Map([...KNOWN, ['furnace', FURNACE] as const])

const chosen = (metrics: readonly string[], ...names: readonly string[]) =>
  chooseColumns(ALL, new Set(metrics), names)
const titles = (metrics: readonly string[], ...names: readonly string[]) =>
  chosen(metrics, ...names).map(({ title, metric }) => `${title} ${metric}`)

t.test('the default columns depend on the metrics that are observed', async (t) => {
  t.strictSame(titles(['perf-sysstat']), [
    'CPU perf-sysstat',
    'WAIT perf-sysstat',
    'MEMORY perf-sysstat',
    'READ perf-sysstat',
    'WRITTEN perf-sysstat',
  ])
  t.strictSame(titles(['pressure']), [
    'CPU pressure',
    'WAIT pressure',
    'THROTTLED pressure',
    'MEMORY pressure',
  ])
  t.strictSame(titles(['pressure', 'perf-sysstat']).slice(0, 3), [
    'CPU perf-sysstat',
    'WAIT pressure',
    'THROTTLED pressure',
  ])
})

t.test('vitals has the default columns of the three metrics that it replaces', async (t) => {
  const names = (metrics: readonly string[]) => chosen(metrics).map(({ title }) => title)
  const three = ['network', 'perf-sysstat', 'pressure']
  t.strictSame(names(['vitals']), names(three))
  t.ok(chosen(['vitals']).every(({ metric }) => metric === 'vitals'))
  for (const { title, metric, others = [] } of chosen([...three, 'vitals'])) {
    t.not(metric, 'vitals')
    const columns = others.map((other) => other.metric)
    t.ok(columns.includes('vitals'), `${title} of a pod that only vitals observes`)
  }
})

t.test('every default column of a built-in metric is in the catalog', async (t) => {
  for (const { metric, section, column } of DEFAULT_COLUMNS.flat()) {
    const rows = KNOWN.get(metric)
    if (rows === undefined) continue
    const found = rows.sections
      .find(({ name }) => name === section)
      ?.columns.find(({ name }) => name === column)
    t.ok(found?.behavior, `${metric} ${section} ${column} is measured`)
  }
})

t.test('requested columns come first, in every section that has them', async (t) => {
  t.strictSame(titles(['perf-sysstat', 'furnace'], 'heat', 'threads').slice(0, 4), [
    'zone heat furnace',
    'door heat furnace',
    'threads perf-sysstat',
    'CPU perf-sysstat',
  ])
  t.strictSame(
    chosen(['furnace', 'perf-sysstat'], 'heat')
      .map(({ key }) => key)
      .slice(0, 3),
    ['furnace.zone.heat', 'furnace.door.heat', 'percent_cpu'],
  )
})

t.test('a requested default column is not repeated', async (t) => {
  t.strictSame(titles(['perf-sysstat'], 'rss'), [
    'MEMORY perf-sysstat',
    'CPU perf-sysstat',
    'WAIT perf-sysstat',
    'READ perf-sysstat',
    'WRITTEN perf-sysstat',
  ])
})

t.test('no two columns have the same title', async (t) => {
  t.strictSame(titles(['perf-sysstat', 'pressure'], 'percent_wait', 'majflt_s').slice(0, 4), [
    'percent_wait perf-sysstat',
    'majflt_s perf-sysstat',
    'CPU perf-sysstat',
    'WAIT pressure',
  ])
  t.strictSame(titles(['perf-sysstat'], 'percent_wait')[0], 'WAIT perf-sysstat')
  t.strictSame(titles(['network'], 'percent_wait', 'run_delay').slice(0, 2), [
    'percent_wait perf-sysstat',
    'run_delay pressure',
  ])
  const twins = new Map([...ALL, ['oven', FURNACE] as const])
  const shown = chooseColumns(twins, new Set(['furnace', 'oven']), ['heat'])
  t.strictSame(
    shown.map(({ title }) => title),
    ['furnace zone heat', 'furnace door heat', 'oven zone heat', 'oven door heat'],
  )
})

t.test(
  'a requested column of a metric that is not observed is shown, without values',
  async (t) => {
    t.equal(titles(['perf-sysstat'], 'heat')[0], 'heat furnace')
  },
)

t.test('a metric without default columns is shown with its first columns', async (t) => {
  t.strictSame(
    chosen(['furnace']).map(({ title, total, unit }) => [title, total, unit]),
    [
      ['zone heat', 'greatest', 'Cel'],
      ['zone joules', 'sum', 'J/s'],
      ['door heat', 'greatest', 'Cel'],
      ['door joules', 'sum', 'J/s'],
    ],
  )
})

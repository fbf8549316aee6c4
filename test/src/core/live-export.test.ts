import t from 'tap'
import type { LiveExport } from '../../../src/core/catalog.ts'
import { buildCatalog, type RowsDescription } from '../../../src/core/catalog.ts'
import { exportProblem, exportVariables } from '../../../src/core/live-export.ts'
import { askingPod, metricDocument, ride } from './build.ts'

const meaning = 'a column of the test'
const ROWS: RowsDescription = {
  format: 'jsonl',
  sections: [
    {
      name: 'ranks',
      of: 'process',
      description: 'processes',
      columns: [
        { name: 'program', type: 'text', key: true, meaning },
        { name: 'pid', type: 'number', key: true, meaning },
        { name: 'uid', type: 'number', meaning },
        { name: 'state', type: 'text', meaning },
        { name: 'phase', type: 'text', key: true, otlp: { summed: true }, meaning },
        { name: 'scope', type: 'text', otlp: { name: 'my.scope' }, meaning },
        { name: 'waited', type: 'number', unit: 'ticks', behavior: 'counter', meaning },
        { name: 'heat', type: 'number', unit: 'Cel', behavior: 'gauge', meaning },
        {
          name: 'delay',
          type: 'number',
          unit: 'ms',
          behavior: 'gauge',
          otlp: { mean: true },
          meaning,
        },
        {
          name: 'rss',
          type: 'number',
          unit: 'KiB',
          behavior: 'gauge',
          otlp: { name: 'process.memory.usage', unit: 'By', scale: 1024, attributes: { a: 'b' } },
          meaning,
        },
      ],
    },
    {
      name: 'ports',
      of: 'device',
      description: 'ports',
      columns: [
        { name: 'device', type: 'text', key: true, meaning },
        { name: 'port', type: 'number', key: true, otlp: { name: 'network.port' }, meaning },
        { name: 'bytes', type: 'number', unit: 'bytes', behavior: 'counter', meaning },
      ],
    },
  ],
}

const ENDPOINT = 'http://collector.monitoring:4318'

/** Returns the description of the rows that an observer gets. */
function rowsOf(settings: Omit<LiveExport, 'endpoint'> = {}, rows = ROWS) {
  const variables = exportVariables('my-metric', { endpoint: ENDPOINT, ...settings }, rows)
  return JSON.parse(variables.find(({ name }) => name === 'RIDEALONG_OTLP_ROWS')?.value ?? '')
}

t.test('a key can have a series for each number, and a column none', async (t) => {
  const rows: RowsDescription = {
    format: 'jsonl',
    sections: [
      {
        name: 'ranks',
        of: 'process',
        description: 'processes',
        columns: [
          { name: 'pid', type: 'number', key: true, meaning },
          { name: 'mpi_rank', type: 'number', key: true, otlp: { summed: false }, meaning },
          { name: 'waited', type: 'number', unit: 's', behavior: 'gauge', meaning },
          { name: 'since', type: 'number', behavior: 'gauge', otlp: { exported: false }, meaning },
        ],
      },
    ],
  }
  const [section] = rowsOf({}, rows).sections
  t.strictSame(section.keys, [
    { column: 'pid', attribute: 'process.pid', member: true },
    { column: 'mpi_rank', attribute: 'ridealong.mpi_rank' },
  ])
  t.strictSame(
    section.values.map(({ column }: { readonly column: string }) => column),
    ['waited'],
  )
})

t.test('the rows have the names and units of OpenTelemetry', async (t) => {
  t.strictSame(rowsOf(), {
    metric: 'my-metric',
    format: 'jsonl',
    sections: [
      {
        name: 'ranks',
        keys: [
          { column: 'program', attribute: 'process.executable.name' },
          { column: 'pid', attribute: 'process.pid', member: true },
          { column: 'phase', attribute: 'ridealong.phase', member: true },
          { column: 'scope', attribute: 'my.scope' },
        ],
        values: [
          {
            column: 'waited',
            name: 'ridealong.my_metric.ranks.waited',
            unit: '{tick}',
            behavior: 'counter',
          },
          {
            column: 'heat',
            name: 'ridealong.my_metric.ranks.heat',
            unit: 'Cel',
            behavior: 'gauge',
            mean: true,
          },
          {
            column: 'delay',
            name: 'ridealong.my_metric.ranks.delay',
            unit: 'ms',
            behavior: 'gauge',
            mean: true,
          },
          {
            column: 'rss',
            name: 'process.memory.usage',
            unit: 'By',
            behavior: 'gauge',
            scale: 1024,
            attributes: { a: 'b' },
          },
        ],
      },
      {
        name: 'ports',
        keys: [
          { column: 'device', attribute: 'system.device' },
          { column: 'port', attribute: 'network.port' },
        ],
        values: [
          {
            column: 'bytes',
            name: 'ridealong.my_metric.ports.bytes',
            unit: 'By',
            behavior: 'counter',
          },
        ],
      },
    ],
  })
})

t.test('with granularity process no values are summed', async (t) => {
  const { keys } = rowsOf({ granularity: 'process' }).sections[0]
  t.strictSame(keys.slice(1, 3), [
    { column: 'pid', attribute: 'process.pid' },
    { column: 'phase', attribute: 'ridealong.phase' },
  ])
})

t.test('a summary is described as the rows are', async (t) => {
  const [, ports] = ROWS.sections
  const { summary, sections } = rowsOf({}, { ...ROWS, summary: ports === undefined ? [] : [ports] })
  t.strictSame(summary, [sections[1]])
})

t.test('only observers of metrics with an endpoint have the variables', async (t) => {
  const otlp = { endpoint: ENDPOINT, interval: 30 }
  const catalog = buildCatalog(
    [
      metricDocument('with', { otlp, rows: ROWS }),
      metricDocument('off', { rows: ROWS }),
      metricDocument('undescribed', { otlp }),
    ],
    '00000000',
  )
  const pod = askingPod({}, { 'ridealong.dev/inject': 'with,off,undescribed' })
  const { observers } = ride(pod, { catalog })
  const exported = Object.values(observers).map(({ name, env = [] }) => [
    name,
    env.filter((one) => /OTLP|UID/.test(one.name)).map(({ value, ...other }) => value ?? other),
  ])
  t.strictSame(exported, [
    [
      'with',
      [
        { name: 'POD_UID', valueFrom: { fieldRef: { fieldPath: 'metadata.uid' } } },
        ENDPOINT,
        '30',
        JSON.stringify({ ...rowsOf(), metric: 'with' }).replaceAll('my_metric', 'with'),
      ],
    ],
    ['off', []],
    ['undescribed', []],
  ])
})

t.test('no annotation changes the endpoint', async (t) => {
  const otlp = { endpoint: ENDPOINT }
  const catalog = buildCatalog([metricDocument('with', { otlp, rows: ROWS })], '00000000')
  const other = 'http://attacker:4318'
  const asking = (annotations: Record<string, string>) => {
    const pod = askingPod({}, { 'ridealong.dev/inject': 'with', ...annotations })
    return ride(pod, { catalog }).observers.with?.env ?? []
  }
  const endpoints = asking({}).filter(({ name }) => name === 'RIDEALONG_OTLP_ENDPOINT')
  t.strictSame(endpoints, [{ name: 'RIDEALONG_OTLP_ENDPOINT', value: ENDPOINT }])
  for (const key of ['otlp', 'endpoint', 'otlp-endpoint']) {
    for (const domain of ['ridealong.dev', 'with.ridealong.dev']) {
      t.notMatch(JSON.stringify(asking({ [`${domain}/${key}`]: other })), 'attacker', key)
    }
  }
})

t.test('a description that does not fit into the environment is a problem', async (t) => {
  const section = (name: string) => ({
    name,
    of: 'pod' as const,
    description: 'many columns',
    columns: Array.from({ length: 64 }, (_, index) => ({
      name: `${'c'.repeat(30)}_${index}`,
      type: 'number' as const,
      unit: 'count',
      behavior: 'gauge' as const,
      meaning,
    })),
  })
  const rows = { format: 'jsonl' as const, sections: ['a', 'b', 'c', 'd'].map(section) }
  const document = (otlp?: LiveExport) =>
    metricDocument('long', otlp === undefined ? { rows } : { rows, otlp })
  t.equal(exportProblem(document()), undefined)
  t.match(
    exportProblem(document({ endpoint: ENDPOINT })),
    /^spec\.rows has too many columns for the live export: it takes \d+ characters, at most 32768$/,
  )
  t.equal(
    exportProblem(metricDocument('short', { rows: ROWS, otlp: { endpoint: ENDPOINT } })),
    undefined,
  )
})

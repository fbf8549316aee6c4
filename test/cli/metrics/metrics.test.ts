import { join } from 'node:path'
import t from 'tap'
import { parseAllDocuments } from 'yaml'
import { metrics } from '../../../cli/metrics/metrics.ts'
import { loadCatalog } from '../../../src/catalog/load.ts'
import { run, runInTerminal } from '../command.ts'
import { createSession } from '../host.ts'

const OURS = `apiVersion: ridealong.dev/v1alpha1
kind: Metric
metadata: {name: ours}
spec:
  description: a metric of ours
  privilege: baseline
  options:
    depth: {type: string, enum: [shallow, deep], default: deep, description: how far it looks}
  container:
    image: example.com/observer:1
    resources: {limits: {cpu: 10m, memory: 16Mi}}
`

t.test('metrics prints a table with one line for each metric', async (t) => {
  const { code, out } = await run(['metrics'])
  t.equal(code, 0)
  const [table = '', defaults] = out.trimEnd().split('\n\n')
  t.match(defaults, /^Default metrics, which ridealong\.dev\/inject: "true" requests: [a-z]/)
  const [heading, ...rows] = table.split('\n')
  t.equal(heading, 'NAME               PRIVILEGE   DESCRIPTION')
  t.match(rows, [
    /^cpu-profile {8}restricted {2}\S/,
    /^gpu {16}restricted {2}\S/,
    /^gpu-nvidia {9}restricted {2}\S/,
    /^io-sysstat {9}restricted {2}\S/,
    /^mpi-trace {10}restricted {2}\S/,
    /^nccl-ras {11}restricted {2}\S/,
    /^network {12}restricted {2}\S/,
    /^perf-sysstat {7}restricted {2}\S/,
    /^pressure {11}restricted {2}\S/,
    /^python-profile {5}restricted {2}\S/,
    /^torch-collectives {2}restricted {2}\S/,
    /^torch-trace {8}restricted {2}\S/,
    /^vitals {13}restricted {2}\S/,
  ])
  t.equal(rows.length, 13)
})

t.test('metrics prints the fields of one metric, and the annotations of its options', async (t) => {
  const { code, out } = await run(['metrics', 'perf-sysstat'])
  t.equal(code, 0)
  t.match(out, /^perf-sysstat\n/)
  t.match(out, /\n {2}privilege {4}restricted\n/)
  t.match(out, /\n {2}image {8}\S+\n/)
  t.match(out, /^Options, as annotations perf-sysstat\.ridealong\.dev\/OPTION of /m)
  t.match(out, /^ {2}OPTION +VALUES +DEFAULT +DESCRIPTION$/m)
  t.match(out, /^ {2}rate +integer, 1 to 3600 +10 +seconds between samples$/m)
  t.match(out, /^ {2}threads +boolean +false +\S/m)
  t.notMatch(out, 'io-sysstat')
  t.match(out, /\n$/, 'the last line has a line feed')
})

t.test('the metrics in the folder given with --catalog are shown', async (t) => {
  const folder = t.testdir({ 'ours.yaml': OURS })
  const all = await run(['metrics', '--catalog', folder])
  t.match(all.out, /\nours +baseline +a metric of ours\n/)
  const { code, out } = await run(['metrics', 'ours', '--catalog', folder])
  t.equal(code, 0)
  t.match(out, /\n {2}depth +string: shallow, deep +deep +how far it looks\n/)
})

t.test(
  'the YAML and JSON output of one metric, or of all metrics, has the same values',
  async (t) => {
    for (const [name, names] of [
      [
        [],
        [
          ...['cpu-profile', 'gpu', 'gpu-nvidia', 'io-sysstat', 'mpi-trace', 'nccl-ras', 'network'],
          ...[
            'perf-sysstat',
            'pressure',
            'python-profile',
            'torch-collectives',
            'torch-trace',
            'vitals',
          ],
        ],
      ],
      [['perf-sysstat'], ['perf-sysstat']],
    ] as const) {
      const [yaml, json] = await Promise.all(
        ['yaml', 'json'].map((form) => run(['metrics', ...name, '-o', form])),
      )
      t.equal(yaml?.code, 0)
      t.equal(json?.code, 0)
      const listed = JSON.parse(json?.out ?? '')
      const documents = parseAllDocuments(yaml?.out ?? '').map((document) => document.toJS())
      t.strictSame(documents, listed)
      const metrics = documents.filter(({ kind }) => kind === 'Metric')
      t.strictSame(
        metrics.map(({ metadata }) => metadata.name),
        names,
      )
      const others = documents.filter(({ kind }) => kind !== 'Metric')
      t.match(others, name.length === 0 ? [{ kind: 'Defaults' }] : [])
      t.match(metrics.at(-1).spec.options.rate, { type: 'integer', default: 10 })
    }
  },
)

t.test('the YAML output of all metrics is a catalog', async (t) => {
  const { out } = await run(['metrics', '-o', 'yaml'])
  const folder = t.testdir({ 'all.yaml': out })
  const [copy, builtIn] = await Promise.all([
    loadCatalog({ folder, isWhole: true }),
    loadCatalog({}),
  ])
  t.strictSame(copy.defaultMetrics, builtIn.defaultMetrics)
  t.strictSame([...copy.metrics.keys()], [...builtIn.metrics.keys()])
})

t.test('a catalog without default metrics has none in the table', async (t) => {
  const defaults = 'apiVersion: ridealong.dev/v1alpha1\nkind: Defaults\nspec: {metrics: []}\n'
  const { out } = await run(['metrics', '--catalog', t.testdir({ 'defaults.yaml': defaults })])
  t.match(out, /^Default metrics, .*: none$/m)
})

t.test('the value of --observer-image is shown as the image of a metric', async (t) => {
  const image = 'example.com/mirror/observer:2'
  const { out } = await run(['metrics', 'perf-sysstat', '--observer-image', image])
  t.match(out, `image        ${image}\n`)
})

t.test('the message about an unknown metric names the known metrics', async (t) => {
  const problems = [
    ['x', 'the catalog has no metric x; known metrics are cpu-profile, gpu, '],
    [
      'vital',
      'the catalog has no metric vital (did you mean vitals?); known metrics are cpu-profi',
    ],
  ] as const
  for (const [name, message] of problems) {
    const found = metrics(name, { offline: true, output: 'table' }, createSession())
    await t.rejects(found, { name: 'UsageError', message })
  }
})

t.test('the message names an invalid document of the catalog, or a missing folder', async (t) => {
  const folder = t.testdir({ 'ours.yaml': OURS.replace('baseline', 'root') })
  const { code, err } = await run(['metrics', '--catalog', folder])
  t.equal(code, 2)
  const where = `ridealong: ${join(folder, 'ours.yaml')}: metric ours: spec.privilege `
  t.ok(err.startsWith(where), err)
  t.equal(err.split('\n').length, 2, 'the message is one line')
  const none = await run(['metrics', '--catalog', join(folder, 'none')])
  t.equal(none.code, 2)
  t.match(none.err, /^ridealong: .*none/)
})

t.test('descriptions are wrapped in a terminal of 80 columns', async (t) => {
  for (const args of [['metrics'], ['metrics', 'perf-sysstat']]) {
    const { out } = await runInTerminal(args, 80, { NO_COLOR: '1' })
    for (const line of out.split('\n')) t.ok(line.length <= 80, `at most 80 columns: ${line}`)
    t.match(out, /\n {20,}\S/, 'descriptions are wrapped')
  }
})

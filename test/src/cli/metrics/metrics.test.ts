import { join } from 'node:path'
import t from 'tap'
import { parseAllDocuments } from 'yaml'
import { run } from '../command.ts'

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

t.test('the catalog is a table of 80 columns with a row for each metric', async (t) => {
  const { code, out } = await run(['metrics'])
  t.equal(code, 0)
  const [head = '', ...rows] = out.trimEnd().split('\n')
  t.match(head, /^METRIC {8}PRIVILEGE {3}DESCRIPTION$/)
  const at = head.indexOf('DESCRIPTION')
  const starts = rows.filter((row) => !row.startsWith(' ')).map((row) => row.slice(0, at))
  t.strictSame(starts, ['io-sysstat    restricted  ', 'perf-sysstat  restricted  '])
  const words = rows.map((row) => row.slice(at)).join(' ')
  t.match(words, /^throughput, .* \(iostat\) CPU, memory, .* \(pidstat\)$/)
  for (const row of rows) t.ok(row.length <= 80, row)
})

t.test('a metric is shown with its options, as they are annotated', async (t) => {
  const { code, out } = await run(['metrics', 'perf-sysstat'])
  t.equal(code, 0)
  t.match(out, /^perf-sysstat\n/)
  t.match(out, /\n +privilege restricted\n/)
  t.match(out, /\n +image \S+\n/)
  t.match(out, /\n +perf-sysstat\.ridealong\.dev\/rate\n +\S.*\n +integer, 1 to 3600, default 10\n/)
  t.match(out, /\n +perf-sysstat\.ridealong\.dev\/threads\n +\S.*\n +boolean, default false\n/)
  t.notMatch(out, 'io-sysstat')
  t.match(out, /\n$/, 'the line ends')
})

t.test('the catalog of a folder is shown with it', async (t) => {
  const folder = t.testdir({ 'ours.yaml': OURS })
  const all = await run(['metrics', '--catalog', folder])
  t.match(all.out, /\nours +baseline +a metric of ours\n/)
  const { code, out } = await run(['metrics', 'ours', '--catalog', folder])
  t.equal(code, 0)
  t.match(out, /\n +ours\.ridealong\.dev\/depth\n.*\n +string, shallow or deep, default deep\n/)
})

t.test('YAML and JSON say the same, of one metric or of all', async (t) => {
  for (const [name, names] of [
    [[], ['io-sysstat', 'perf-sysstat']],
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
    t.strictSame(
      documents.map(({ kind, metadata }) => [kind, metadata.name]),
      names.map((one) => ['Metric', one]),
    )
    t.match(documents[0].spec.options.rate, { type: 'integer', default: 10 })
  }
})

t.test('the image of observers can be another', async (t) => {
  const image = 'example.com/mirror/observer:2'
  const { out } = await run(['metrics', 'perf-sysstat', '--observer-image', image])
  t.match(out, `image ${image}\n`)
})

t.test('who names no metric is told which there are', async (t) => {
  const { code, out, err } = await run(['metrics', 'perf'])
  t.equal(code, 2)
  t.equal(out, '')
  t.equal(
    err,
    'ridealong: the catalog has no metric perf; its metrics are io-sysstat, perf-sysstat\n',
  )
})

t.test('a document that does not hold is named', async (t) => {
  const folder = t.testdir({ 'ours.yaml': OURS.replace('baseline', 'root') })
  const { code, err } = await run(['metrics', '--catalog', folder])
  t.equal(code, 2)
  const where = `ridealong: ${join(folder, 'ours.yaml')}: metric ours: spec.privilege `
  t.ok(err.startsWith(where), err)
  t.equal(err.split('\n').length, 2, 'one sentence')
  const none = await run(['metrics', '--catalog', join(folder, 'none')])
  t.equal(none.code, 2)
  t.match(none.err, /^ridealong: .*none/)
})

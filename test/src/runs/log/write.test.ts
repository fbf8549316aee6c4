import { readFileSync } from 'node:fs'
import t from 'tap'
import { listColumns } from '../../../../src/runs/log/columns.ts'
import { parseEntry } from '../../../../src/runs/log/parse.ts'
import { readLog } from '../../../../src/runs/log/read.ts'
import { csvHeader, csvLines, jsonLines } from '../../../../src/runs/log/write.ts'
import { BUILT_IN_ROWS } from './built-in.ts'

const LOG = readFileSync(
  new URL('../../../logs/perf-sysstat-flux-operator.log', import.meta.url),
  'utf8',
)
const PLACE = { source: 'hpc/a/perf-sysstat', namespace: 'hpc', pod: 'a', pod_index: '0' }
const ENTRIES = readLog(LOG, PLACE, BUILT_IN_ROWS)
const COLUMNS = [...listColumns(BUILT_IN_ROWS).keys()]
const parse = (line: string) => parseEntry(line, BUILT_IN_ROWS)

t.test('entries that are written as JSON Lines are read unchanged', async (t) => {
  const lines = jsonLines(ENTRIES).trimEnd().split('\n')
  t.equal(lines.length, ENTRIES.length)
  t.strictSame(lines.map(parse), ENTRIES)
})

t.test('how containers ended is read again, and is not known in older files', async (t) => {
  const ended = [{ container: 'app', reason: 'OOMKilled', exitCode: 137 }]
  const of = (fields: object) => parse(JSON.stringify({ kind: 'log', source: 'a', ...fields }))
  t.match(of({ ended }), { ended })
  t.match(of({ ended: [] }), { ended: [] })
  t.match(of({}), { ended: null })
  t.match(of({ ended: null }), { ended: null })
  t.match(of({}), { podLimits: null })
  t.match(of({ podLimits: { cpu: 1.5, memory: 'x' } }), { podLimits: { cpu: 1.5, memory: null } })
  t.match(of({ ended: [{ exitCode: 'x' }] }), {
    ended: [
      {
        ...{ container: '', reason: null, exitCode: null, signal: null, finishedAt: null },
        ...{ restarted: false, deleted: false },
      },
    ],
  })
})

t.test('the observed pods are read again, and are not known in older files', async (t) => {
  const of = (fields: object) => parse(JSON.stringify({ kind: 'log', source: 'a', ...fields }))
  const observedPods = { workload: 'job/a', total: 20, observed: 5, metrics: { power: 5 } }
  t.match(of({ observedPods }), { observedPods })
  for (const other of [undefined, null, 'x', [], {}, { total: 20 }, { total: '20', observed: 5 }])
    t.match(of({ observedPods: other }), { observedPods: null })
  const wrong = { total: 20, observed: 5, metrics: { power: 'x', load: 3 }, workload: 1 }
  t.match(of({ observedPods: wrong }), {
    observedPods: { workload: '', total: 20, observed: 5, metrics: { load: 3 } },
  })
})

t.test('values of another type than that of their column are not read', async (t) => {
  const cells = { pid: 'x', percent_cpu: '5', pod_index: 3, program: {} }
  const origin = { kind: 'process', metric: 'perf-sysstat', section: 'process', source: 'a' }
  t.match(parse(JSON.stringify({ ...origin, ...cells })), {
    pid: null,
    percent_cpu: null,
    pod_index: '3',
    program: null,
  })
  for (const wrong of [
    '',
    '[]',
    'null',
    '{"kind":"process"}',
    '{"kind":"x","section":"process","source":"a"}',
    '{"kind":"process","source":"a"}',
    '{"kind',
  ])
    t.equal(parse(wrong), undefined)
})

t.test('the CSV has a header, and a row for each sample', async (t) => {
  const names = COLUMNS
  t.equal(csvHeader(COLUMNS), `${names.join(',')}\n`)
  const rows = csvLines(ENTRIES, COLUMNS).trimEnd().split('\n')
  t.equal(rows.length, ENTRIES.length - 1, 'the last entry describes the log, and is not a sample')
  const cells = rows[0]?.split(',') ?? []
  t.equal(cells.length, names.length)
  const row = Object.fromEntries(names.map((name, index) => [name, cells[index]]))
  t.match(row, {
    kind: 'process',
    source: 'hpc/a/perf-sysstat',
    pod_index: '0',
    pid: '154',
    rss: '20448',
  })
  t.match(row, { usr_ms: '', device: '', percent_cpu: '0' }, 'null is empty, and zero is zero')
})

t.test('the name of a program cannot end its CSV cell or begin a formula', async (t) => {
  const [first] = ENTRIES
  const named = (program: string) =>
    csvLines([{ ...first, program } as (typeof ENTRIES)[number]], COLUMNS)
  t.match(named('a,"b"\nc'), ',"a,""b""\\nc",')
  t.match(named('=cmd()'), `,'=cmd(),`)
})

t.test('the rows of cpu-profile are kept whole', async (t) => {
  const file = new URL('../../../logs/profiles/cpu-profile-lammps-2.log', import.meta.url)
  const log = readFileSync(file, 'utf8')
  const entries = readLog(log, { source: 'hpc/a/cpu-profile' }, BUILT_IN_ROWS)
  const count = (kind: string) => entries.filter((entry) => entry.kind === kind).length
  t.strictSame(['function', 'stack', 'process', 'unmatched', 'log'].map(count), [18, 16, 1, 0, 1])
  t.strictSame(jsonLines(entries).trimEnd().split('\n').map(parse), entries)
  const rows = csvLines(entries, COLUMNS).trimEnd().split('\n')
  t.equal(rows.length, entries.length - 1)
  t.match(
    rows.find((row) => row.startsWith('stack,')),
    '[unknown];LAMMPS_NS::PairLJCut::compute',
  )
  const stack = Array(500).fill('namespace::f').join(';')
  const [row, ...others] = entries.filter(({ kind }) => kind === 'stack')
  t.ok(others.length > 0)
  const long = csvLines([{ ...row, stack } as (typeof entries)[0]], COLUMNS)
  t.match(long, `,${stack},`, 'a long stack is not cut')
})

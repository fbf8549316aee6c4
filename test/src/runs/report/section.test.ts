import t from 'tap'
import type { RowColumn, RowsDescription } from '../../../../src/core/catalog.ts'
import { parseEntry } from '../../../../src/runs/log/parse.ts'
import { pageData } from '../../../../src/runs/report/data.ts'
import { addEntry, newRun } from '../../../../src/runs/report/gather.ts'
import { BUILT_IN_ROWS } from '../log/built-in.ts'

const number = (name: string, behavior: 'gauge' | 'counter', unit: string): RowColumn => ({
  name,
  type: 'number',
  unit,
  behavior,
  meaning: `the ${name}`,
})

const TRAFFIC: RowsDescription = {
  format: 'jsonl',
  sections: [
    {
      name: 'sockets',
      of: 'process',
      description: 'the sockets of a process',
      columns: [
        { name: 'peer', type: 'text', key: true, meaning: 'the peer' },
        { name: 'pid', type: 'number', key: true, meaning: 'the process' },
        { name: 'port', type: 'number', key: true, meaning: 'the port' },
        { name: 'state', type: 'text', meaning: 'the state' },
        number('sent', 'counter', 'bytes'),
        number('rtt', 'gauge', 'ms'),
      ],
    },
  ],
}

const PLACE = { metric: 'traffic', namespace: 'hpc', section: 'sockets', kind: 'process' }

/** Returns a row of a pod. */
const row = (pod: string, seconds: number, cells: object) => ({
  ...PLACE,
  source: `hpc/${pod}/traffic`,
  pod,
  pod_index: pod,
  timepoint: seconds / 10,
  time: `2026-01-01T10:00:${String(seconds).padStart(2, '0')}.000Z`,
  seconds,
  interval: 10,
  peer: 'b',
  pid: 7,
  port: 80,
  ...cells,
})
/** Returns the entry at the end of a pod's log. */
const end = (pod: string, rows: RowsDescription | null = TRAFFIC) => {
  const { source, metric, pod_index } = row(pod, 0, {})
  return { kind: 'log', source, metric, pod, pod_index, rows }
}

function dataOf(lines: readonly object[], known = BUILT_IN_ROWS) {
  const run = newRun(known)
  for (const line of lines) {
    const entry = parseEntry(JSON.stringify(line), known)
    if (entry === undefined) throw new Error('the line is not an entry')
    addEntry(run, entry)
  }
  return pageData(run, 'auto')
}

const valuesOf = ({ sections }: ReturnType<typeof dataOf>) =>
  sections.map(({ columns, rows }) =>
    rows.map(({ values }) =>
      Object.fromEntries(columns.map(({ title }, index) => [title, values[index]])),
    ),
  )[0] ?? []

t.test('a section becomes a table and a plot of each measured column', async (t) => {
  const lines = [
    row('0', 0, { sent: 100, rtt: 4 }),
    row('0', 10, { sent: 300, rtt: 2 }),
    row('0', 20, { sent: 300, rtt: null }),
    end('0'),
  ]
  const data = dataOf(lines)
  const [section] = data.sections
  t.match(section, { title: 'traffic', description: 'the sockets of a process', isMerged: false })
  t.strictSame(section?.plots.measures, [
    { key: 'sent', title: 'sent', unit: 'bytes/s', meaning: 'the sent' },
    { key: 'rtt', title: 'rtt', unit: 'ms', meaning: 'the rtt' },
  ])
  const [line, ...others] = section?.plots.lines ?? []
  t.strictSame(others, [])
  t.match(line, { pod: '0', program: 'b port 80', pid: 7 })
  t.strictSame(line?.values, [
    [null, 20, 0],
    [4, 2, null],
  ])
  t.strictSame(valuesOf(data), [{ 'sent, growth': 200, 'rtt, mean': 3, 'rtt, peak': 4 }])
  t.match(data, { pods: ['0'], programs: [], rows: [], duration: 20, samples: 3, notices: [] })
})

t.test('a log that describes its rows needs no catalog that describes its metric', async (t) => {
  const lines = [row('0', 0, { sent: 1 }), row('0', 10, { sent: 2 }), end('0')]
  const known = new Map([...BUILT_IN_ROWS, ['traffic', TRAFFIC]])
  t.strictSame(dataOf(lines, known), dataOf(lines))
})

t.test('a counter that starts again from zero has grown by its new value', async (t) => {
  const sent = [50, 80, 20, null, 40]
  const lines = sent.map((value, index) => row('0', index * 10, { sent: value }))
  const data = dataOf([...lines, end('0')])
  t.match(valuesOf(data), [{ 'sent, growth': 30 + 20 + 20 }])
  t.strictSame(data.sections[0]?.plots.lines[0]?.values[0], [null, 3, 2, null, 1])
})

t.test('values below zero are drawn', async (t) => {
  const other = [0, 10, 20].map((seconds) => row('1', seconds, { rtt: 5 }))
  const lines = [row('0', 0, { rtt: -1 }), row('0', 20, { rtt: -3, interval: 20 }), ...other]
  const data = dataOf([...lines, end('0'), end('1')])
  t.strictSame(data.sections[0]?.plots.lines[0]?.values[1], [-1, '', -3])
  t.match(valuesOf(data)[0], { 'rtt, mean': -70 / 30, 'rtt, peak': -1 })
})

t.test(
  'rows of a pod that differ only in pid are one row of the table, and an outlying pod is marked',
  async (t) => {
    const lines = ['0', '1', '2', '3', '4'].flatMap((pod) => [
      row(pod, 0, { sent: 0, rtt: pod === '3' ? 90 : 5 }),
      row(pod, 10, { sent: 7, rtt: 5 }),
      row(pod, 0, { pid: 8, sent: 0 }),
      row(pod, 10, { pid: 8, sent: 1 }),
      end(pod),
    ])
    const data = dataOf(lines)
    const [section] = data.sections
    t.equal(section?.plots.lines.length, 10)
    t.strictSame(
      section?.rows.map(({ pod, values, marks }) => [pod, values[0], marks.includes(true)]),
      ['0', '1', '2', '3', '4'].map((pod) => [pod, 8, pod === '3']),
    )
  },
)

t.test('more lines than a page can show are merged by name', async (t) => {
  const [section] = TRAFFIC.sections
  const many = Array.from({ length: 59 }, (_, index) => number(`c${index}`, 'gauge', 'count'))
  const columns = [...(section?.columns.filter(({ name }) => name !== 'state') ?? []), ...many]
  const wide = { ...TRAFFIC, sections: [{ ...section, columns }] } as RowsDescription
  const pids = (count: number) =>
    Array.from({ length: count }, (_, pid) => [
      row('0', 0, { pid, sent: 0, rtt: pid }),
      row('0', 10, { pid, sent: 10, rtt: 1 }),
    ]).flat()
  const known = new Map([...BUILT_IN_ROWS, ['traffic', wide]])
  const few = dataOf([...pids(409), end('0', wide)], known).sections[0]
  t.strictSame([few?.isMerged, few?.plots.lines.length], [false, 409])
  const all = dataOf([...pids(410), end('0', wide)], known).sections[0]
  t.strictSame([all?.isMerged, all?.plots.lines.length], [true, 1])
  t.strictSame(all?.plots.lines[0]?.values.slice(0, 2), [
    [null, 410],
    [409, 1],
  ])
})

t.test('a log whose description is missing or differs from the catalog has a notice', async (t) => {
  const lines = [row('0', 0, { sent: 1 })]
  const { sections, notices } = dataOf([...lines, end('0', null)])
  t.strictSame(sections, [])
  t.strictSame(notices, [
    'hpc/0/traffic: has rows that are not shown: the description of its metric is missing.',
  ])
  const [section] = TRAFFIC.sections
  const other = { ...TRAFFIC, sections: [{ ...section, of: 'pod' } as const] } as RowsDescription
  const known = new Map([...BUILT_IN_ROWS, ['traffic', other]])
  t.match(dataOf([...lines, end('0')], known).notices, [
    /^hpc\/0\/traffic: has another description of its rows than the command's catalog/,
  ])
})

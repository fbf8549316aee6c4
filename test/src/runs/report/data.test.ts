import t from 'tap'
import { parseEntry } from '../../../../src/runs/log/parse.ts'
import { pageData } from '../../../../src/runs/report/data.ts'
import { addEntry, newRun } from '../../../../src/runs/report/gather.ts'
import { BUILT_IN_ROWS } from '../log/built-in.ts'

/** Returns a sample of a pod or, with the kind `log`, the entry of its log. */
function entry(pod: string, pod_index: string | null, cells: object) {
  const line = {
    kind: 'process',
    metric: 'perf-sysstat',
    section: 'process',
    source: `hpc/${pod}/perf-sysstat`,
    pod,
    namespace: 'hpc',
    pod_index,
    program: 'lmp',
    pid: 1,
    ...cells,
  }
  const parsed = parseEntry(JSON.stringify(line), BUILT_IN_ROWS)
  if (parsed === undefined) throw new Error('the line is not an entry')
  return parsed
}

function dataOf(
  entries: readonly ReturnType<typeof entry>[],
  unit: 'auto' | 'process' | 'program' = 'auto',
) {
  const run = newRun(BUILT_IN_ROWS)
  for (const one of entries) addEntry(run, one)
  return pageData(run, unit)
}

const at = (seconds: number, cells: object = {}) => ({
  timepoint: seconds / 10,
  seconds,
  interval: 10,
  ...cells,
})
const TIME = '2026-03-01T10:00:00.000Z'
const LATER = '2026-03-01T10:00:20.000Z'

t.test('the lines of pods that started later begin later in the plots', async (t) => {
  const { plots, duration } = dataOf([
    entry('a', '0', at(0, { time: TIME, percent_cpu: 1 })),
    entry('a', '0', at(10, { percent_cpu: 2 })),
    entry('b', '1', at(0, { time: LATER, percent_cpu: 3 })),
    entry('b', '1', at(10, { percent_cpu: 4 })),
  ])
  t.equal(duration, 30)
  t.strictSame(
    plots.lines.map(({ values }) => values[0]),
    [
      [1, 2, '', ''],
      ['', '', 3, 4],
    ],
  )
})

t.test("the observer's summary has priority over the sums of the samples", async (t) => {
  const summary = [
    { metric: 'perf-sysstat' },
    {
      program: 'lmp',
      processes: 3,
      cpu_seconds: 9.5,
      peak_rss_kib: 2048,
      bytes_read: null,
      bytes_written: 1048576,
      unaccounted_cpu_seconds: 4,
    },
    {
      program: 'sh',
      processes: 7,
      cpu_seconds: 0.1,
      peak_rss_kib: 1024,
      bytes_read: 0,
      bytes_written: 0,
    },
  ]
  const { rows, columns, programs, notices } = dataOf([
    entry('a', '0', at(0, { percent_cpu: 50, rss: 1024, kb_rd_s: 1, kb_wr_s: 0 })),
    entry('a', '0', {
      kind: 'log',
      summary,
      metadata: { pod: 'a' },
      isAverage: false,
      timepoints: 1,
    }),
  ])
  const row = (program: string) => {
    const values = rows.find((one) => one.program === program)?.values ?? []
    return Object.fromEntries(columns.map(({ key }, index) => [key, values[index]]))
  }
  t.match(row('lmp'), {
    processes: 3,
    cpu_seconds: 9.5,
    memory: 2,
    read: null,
    written: 1,
    cpu: 50,
  })
  t.match(
    row('sh'),
    { processes: 7, cpu_seconds: 0.1, cpu: null },
    'a program that is only in the summary',
  )
  t.strictSame(programs, ['lmp', 'sh'])
  t.match(
    notices.join(),
    /4\.0 CPU seconds are missing .*: processes used them after their last samples, or had no sample\./,
  )
})

t.test(
  'without a summary, the samples are added up; a total with an unread value is null',
  async (t) => {
    const { rows, columns } = dataOf([
      entry('a', '0', at(0, { percent_cpu: 50, kb_wr_s: 1024, kb_rd_s: null })),
      entry('a', '0', at(10, { percent_cpu: 100, kb_wr_s: 0, kb_rd_s: 5 })),
    ])
    const values = Object.fromEntries(
      columns.map(({ key }, index) => [key, rows[0]?.values[index]]),
    )
    t.match(values, { processes: 1, cpu: 75, cpu_seconds: 15, written: 10, read: null })
  },
)

t.test('grouped by program, the processes of a program in a pod are one line', async (t) => {
  const entries = [1, 2].flatMap((pid) =>
    [0, 10].map((seconds) =>
      entry('a', '0', at(seconds, { pid, percent_cpu: 40, kb_rd_s: pid === 1 ? null : 3 })),
    ),
  )
  t.equal(dataOf(entries).plots.lines.length, 2)
  const { plots, unit } = dataOf(entries, 'program')
  t.equal(unit, 'program')
  t.match(plots.lines, [{ pod: '0', program: 'lmp', pid: null }])
  t.strictSame(plots.lines[0]?.values[0], [80, 80])
  t.strictSame(plots.lines[0]?.values[2], [], 'a sum with an unknown part is not drawn')
})

t.test('if a page has too many processes, they are drawn by program', async (t) => {
  const many = Array.from({ length: 2001 }, (_, pid) =>
    entry('a', '0', at(0, { pid, percent_cpu: 1 })),
  )
  const { unit, plots } = dataOf(many)
  t.equal(unit, 'program')
  t.equal(plots.lines.length, 1)
  t.strictSame(plots.lines[0]?.values[0], [2001])
})

t.test('two pods of the same index are distinguished, and pods are in numeric order', async (t) => {
  const pods = [
    ['a', '2'],
    ['b', '10'],
    ['c', '2'],
    ['d', null],
  ] as const
  const { pods: shown } = dataOf(pods.map(([pod, index]) => entry(pod, index, at(0))))
  t.strictSame(shown, ['2 (hpc/a)', '2 (hpc/c)', '10', 'd'])
})

t.test('threads are not counted twice, and devices are not programs', async (t) => {
  const device = { kind: 'device', metric: 'io-sysstat', section: 'device' }
  const { rows, plots, devices, idleDevices } = dataOf([
    entry('a', '0', at(0, { percent_cpu: 50 })),
    entry('a', '0', at(0, { kind: 'thread', tid: 1, percent_cpu: 50 })),
    entry('a', '0', at(0, { ...device, device: 'vda', util: 5 })),
    entry('a', '0', at(0, { ...device, device: 'loop0', util: 0 })),
  ])
  t.equal(rows.length, 1)
  t.equal(plots.lines.length, 1)
  t.match(devices.lines, [{ program: 'vda' }])
  t.equal(idleDevices, 1)
})

t.test('the table by pod and program has at most 20,000 rows', async (t) => {
  const programs = Array.from({ length: 20_001 }, (_, index) =>
    entry('a', '0', at(0, { program: `program-${index}`, percent_cpu: 1 })),
  )
  const { rows, omittedRows, plots, notices } = dataOf(programs)
  t.equal(rows.length, 20_000)
  t.equal(omittedRows, 1)
  const most = Math.floor(100_000 / plots.measures.length)
  t.equal(plots.lines.length, most, 'lines times measures are at most 100,000')
  t.equal(plots.omitted, 20_001 - most)
  t.match(notices.join(), /programs: 1 row of the table and .* did not fit into the report/)
})

t.test('the processes of vitals are plotted, and have means in the table', async (t) => {
  const { plots, rows, columns } = dataOf([
    vitals(0, { percent_cpu: null, cswch_s: null }),
    vitals(10, { percent_cpu: 40, cswch_s: 7 }),
    vitals(20, { percent_cpu: 60, cswch_s: 9 }),
  ])
  const indexOf = (key: string) => columns.findIndex((column) => column.key === key)
  t.strictSame(
    ['cpu', 'voluntary'].map((key) => rows[0]?.values[indexOf(key)]),
    [50, 8],
  )
  const plotted = plots.measures.findIndex(({ key }) => key === 'cpu')
  t.strictSame(plots.lines[0]?.values[plotted], [null, 40, 60])
})

/** Returns a row of a process from vitals. */
function vitals(seconds: number, cells: object) {
  const place = { source: 'hpc/a/vitals', metric: 'vitals', section: 'process', container: 'app' }
  return entry('a', '0', at(seconds, { ...place, ...cells }))
}

import { readFileSync } from 'node:fs'
import t from 'tap'
import { readBlocks } from '../../../../src/runs/log/blocks.ts'
import type { Sample } from '../../../../src/runs/log/columns.ts'
import type { Entry, LogEntry } from '../../../../src/runs/log/entry.ts'
import { readLines, readLog } from '../../../../src/runs/log/read.ts'
import { BUILT_IN_ROWS } from './built-in.ts'

function textOf(name: string): string {
  return readFileSync(new URL(`../../../logs/${name}`, import.meta.url), 'utf8')
}

const read = (text: string) => readLog(text, { source: 'a' }, BUILT_IN_ROWS)
const logsOf = (entries: readonly Entry[]) => {
  return entries.filter((entry): entry is LogEntry => entry.kind === 'log')
}
const processesOf = (entries: readonly Entry[]) => {
  return entries.filter((entry): entry is Sample => entry.kind === 'process')
}
const devicesOf = (entries: readonly Entry[]) => {
  return entries.filter((entry): entry is Sample => entry.kind === 'device')
}

t.test(
  'a log of the Metrics Operator of 2023 gives a row for each process and thread',
  async (t) => {
    const entries = read(textOf('perf-sysstat-flux-operator.log'))
    const rows = processesOf(entries)
    t.strictSame(
      rows.map(({ timepoint, time, seconds }) => [timepoint, time, seconds]),
      [
        [0, '18:45:33', 0],
        [1, '18:45:36', 3],
        [2, '18:45:38', 5],
        [3, '18:45:41', 8],
        [4, '18:45:43', 10],
      ],
    )
    t.match(rows[0], { program: 'python3.8', pid: 154, tid: null, uid: 1234, rss: 20448 })
    t.match(rows[0], { fd_nr: 8, threads: 1, kb_rd_s: 0, minflt_s: 0.01, policy: 'NORMAL' })
    t.equal(rows[0]?.usr_ms, null, 'the format of 2023 has no section CPU STATISTICS CHILD')
    const threads = entries.filter(({ kind }) => kind === 'thread') as unknown as Sample[]
    t.strictSame(
      threads.map(({ pid, tid, program }) => [pid, tid, program]),
      Array(5).fill([154, 154, 'python3.8']),
    )
    const [log, ...others] = logsOf(entries)
    t.strictSame(others, [])
    t.match(log, {
      metric: 'perf-sysstat',
      timepoints: 5,
      isAverage: true,
      cuts: [],
      pod_index: null,
    })
    t.match(log?.command, /^\/usr\/bin\/python3\.8 .*flux-submit\.py .* -nocite$/)
    t.equal(log?.metadata.pods, 4)
  },
)

t.test('eleven sections are merged into one row, and an empty timepoint has no row', async (t) => {
  const entries = read(textOf('perf-sysstat-head-format-generated.log'))
  const rows = processesOf(entries)
  t.equal(rows.length, 3)
  t.match(rows[2], { pid: 25919, program: 'sh', percent_cpu: 0.42, usr_ms: 5940, system_ms: 10 })
  t.match(rows[2], { minflt_nr: 86, stksize: 132, stkref: 12, nvcswch_s: 1.54, iodelay: 0 })
  t.equal(rows[2]?.interval, null, 'an average since boot has no interval')
  t.match(logsOf(entries)[0], { timepoints: 3, cuts: [] })
})

t.test(
  'iostat documents give a row for each device; if they have no time, seconds come from the rate',
  async (t) => {
    const entries = read(textOf('io-sysstat-host-volume.log'))
    const disks = devicesOf(entries).filter(({ device }) => device === 'nvme0n1')
    t.strictSame(
      disks.map(({ timepoint, time, seconds }) => [timepoint, time, seconds]),
      [
        [0, null, 0],
        [1, null, 10],
        [2, null, 20],
      ],
    )
    t.match(disks[2], { r_s: 43.43, wmb_s: 0.83, rrqm: 34.82, rareq_sz: 20.31, util: 3.93 })
    t.match(logsOf(entries)[0], { metric: 'io-sysstat', timepoints: 3, cuts: [] })
  },
)

t.test("iostat's text table gives the same columns as its JSON document", async (t) => {
  const [table] = devicesOf(read(textOf('io-sysstat-human.log'))).filter(isDisk)
  const [document] = devicesOf(read(textOf('io-sysstat-host-volume.log'))).filter(isDisk)
  t.match(table, { r_s: 43.43, rmb_s: 0.86, rrqm_s: 23.19, rrqm: 34.82, aqu_sz: 0.21, util: 3.93 })
  t.strictSame(Object.keys(table ?? {}), Object.keys(document ?? {}))
})

const isDisk = ({ device }: Sample) => device === 'nvme0n1'

t.test("Ridealong's own log contains its pod, its times and its totals", async (t) => {
  const entries = read(textOf('io-sysstat-ridealong.log'))
  const [log] = logsOf(entries)
  t.match(log, {
    namespace: 'hpc',
    pod: 'lammps-3-x7k2p',
    node: 'node-1',
    pod_index: '3',
    cuts: [],
  })
  t.match(log, { isAverage: false, timepoints: 3 })
  t.match(log?.summary, [{ metric: 'io-sysstat' }, { device: 'vda', bytes_written: Number }])
  const [first, second] = devicesOf(entries).filter(({ device }) => device === 'vda')
  t.match(first, { interval: 2, seconds: 0 })
  t.match(second, { interval: 2, seconds: 2 })
  const began = Date.parse(String(log?.metadata.started))
  t.equal(Date.parse(first?.time ?? ''), began + 2000)
})

t.test("Ridealong's perf-sysstat gives container, program and exact intervals", async (t) => {
  const entries = read(textOf('perf-sysstat-ridealong.log'))
  const rows = processesOf(entries)
  t.equal(rows.length, 18)
  t.strictSame([...new Set(rows.map(({ program }) => program))], ['dd', 'md5sum', 'sort'])
  t.match(rows[0], { container: 'app', pid: 6, kb_wr_s: 5921.5, stkref: null, iodelay: null })
  t.match(rows[0], { time: /^\d{4}-\d\d-\d\dT16:13:44\.000Z$/, interval: 1, pod_index: '3' })
  const [log] = logsOf(entries)
  t.match(log, { timepoints: 6, isAverage: false, cuts: [], command: /^"a program whose name/ })
  t.strictSame(
    log?.summary.map(({ program }) => program),
    [undefined, 'md5sum', 'sort', 'dd'],
  )
})

const HEAD =
  'METADATA START {"metricName":"perf-sysstat","started":"2026-03-01T23:59:50Z"}\nMETADATA END\n'
const START = 'METRICS OPERATOR COLLECTION START\n'
const END = 'METRICS OPERATOR COLLECTION END\n'

/**
 * Returns a timepoint in the format of Ridealong's observers, with the sections that the tests use.
 */
function timepoint(time: number, io: string): string {
  const ids = `"time":${time},"pid":7`
  const tail = '"command":"lmp","container":"main","program":"lmp"'
  const cpu = `CPU STATISTICS TASK\n[{${ids},"percent_cpu":99.5,${tail}}]\n`
  return `METRICS OPERATOR TIMEPOINT\n${cpu}IO STATISTICS\n[{${ids},${io},${tail}}]\n`
}

t.test('a value that could not be read is null, never zero', async (t) => {
  const hidden = '"kb_rd_s":null,"kb_wr_s":-1.00,"kb_ccwr_s":0,"iodelay":"x"'
  const [row] = processesOf(read(HEAD + START + timepoint(0, hidden) + END))
  t.match(row, { kb_rd_s: null, kb_wr_s: null, kb_ccwr_s: 0, iodelay: null, percent_cpu: 99.5 })
  t.match(row, { container: 'main', program: 'lmp', rss: null })
})

t.test('the first row of a process gives the seconds of its life', async (t) => {
  const lines = [timepoint(0, '"kb_wr_s":4'), timepoint(10, '"kb_wr_s":4')]
  const began = lines[0]?.replace('"percent_cpu"', '"interval":0.25,"percent_cpu"')
  const rows = processesOf(read(`${HEAD}${START}${began}${lines[1]}${END}`))
  t.strictSame(
    rows.map(({ interval }) => interval),
    [0.25, 10],
  )
})

t.test('seconds keep counting after midnight, and each time has the correct date', async (t) => {
  const io = '"kb_rd_s":0'
  const text = HEAD + START + timepoint(235955, io) + timepoint(5, io) + END
  t.strictSame(
    processesOf(read(text)).map(({ seconds, interval, time }) => [seconds, interval, time]),
    [
      [0, 10, '2026-03-01T23:59:55.000Z'],
      [10, 10, '2026-03-02T00:00:05.000Z'],
    ],
  )
})

t.test('each time of a run of several days has the correct date', async (t) => {
  const times = [235955, 80000, 160000, 235959, 80000, 160000, 10000]
  const text = HEAD + START + times.map((time) => timepoint(time, '"kb_rd_s":0')).join('') + END
  t.strictSame(
    processesOf(read(text)).map(({ time }) => time),
    [
      '2026-03-01T23:59:55.000Z',
      '2026-03-02T08:00:00.000Z',
      '2026-03-02T16:00:00.000Z',
      '2026-03-02T23:59:59.000Z',
      '2026-03-03T08:00:00.000Z',
      '2026-03-03T16:00:00.000Z',
      '2026-03-04T01:00:00.000Z',
    ],
  )
})

t.test('a log that is cut anywhere is read up to the cut and reported as cut', async (t) => {
  const io = '"kb_rd_s":0'
  const whole = HEAD + START + timepoint(235955, io) + timepoint(235959, io) + END
  t.strictSame(logsOf(read(whole))[0]?.cuts, [])
  for (let at = 0; at < whole.length - 1; at++) {
    const [log, ...others] = logsOf(read(whole.slice(0, at)))
    t.strictSame(others, [])
    t.not(log?.cuts.length, 0, `cut before byte ${at}`)
  }
  for (let at = 1; at < whole.length; at++) {
    const entries = read(whole.slice(at))
    const [log] = logsOf(entries)
    if (at > 1) t.ok(log?.cuts.includes('its head is missing'), `cut after byte ${at}`)
    t.ok(
      processesOf(entries).every(({ percent_cpu }) => percent_cpu === 99.5 || percent_cpu === null),
    )
  }
})

t.test('the rows before a cut are kept', async (t) => {
  const io = '"kb_rd_s":0'
  const text = HEAD + START + timepoint(235955, io) + timepoint(235959, io)
  const cut = text.slice(0, -40)
  const rows = processesOf(read(cut))
  t.strictSame(
    rows.map(({ percent_cpu, kb_rd_s }) => [percent_cpu, kb_rd_s]),
    [
      [99.5, 0],
      [99.5, null],
    ],
  )
  t.strictSame(logsOf(read(cut))[0]?.cuts, [
    'timepoint 1 is cut at IO STATISTICS',
    'its end is missing: the observer still ran, or the log was cut off',
  ])
})

t.test('an incomplete iostat document gives no row', async (t) => {
  const text = textOf('io-sysstat-host-volume.log')
  const entries = read(text.slice(0, -2000))
  t.strictSame([...new Set(devicesOf(entries).map(({ timepoint }) => timepoint))], [0, 1])
  t.match(logsOf(entries)[0]?.cuts, ['timepoint 2 is cut', /^its end is missing/])
})

t.test('several runs in one text give one log each', async (t) => {
  const one = HEAD + START + timepoint(10, '"kb_rd_s":1') + END
  const entries = read(one + one)
  t.strictSame(
    logsOf(entries).map(({ source, timepoints }) => [source, timepoints]),
    [
      ['a', 1],
      ['a#2', 1],
    ],
  )
  t.strictSame(
    processesOf(entries).map(({ source }) => source),
    ['a', 'a#2'],
  )
})

t.test('other output between the lines and CRLF line ends change nothing', async (t) => {
  const text = textOf('perf-sysstat-head-format-generated.log')
  const noisy = text.replaceAll('IO STATISTICS\n', 'IO STATISTICS\nwget: 75%\n')
  t.strictSame(read(text.replaceAll('\n', '\r\n')), read(text))
  t.strictSame(read(noisy), read(text), 'output between the lines of a section is skipped')
})

t.test('a text that is not a log gives no row', async (t) => {
  for (const text of [
    '',
    '\n',
    'unable to retrieve container logs for containerd://abc\n',
    '{"a":1}',
  ]) {
    const entries = read(text)
    t.equal(entries.length, 1)
    t.match(entries[0], { kind: 'log', timepoints: 0, metadata: {}, summary: [] })
  }
})

const OTHER = (
  end: string,
) => `METADATA START {"metricName":"my-metric","started":"2026-01-01T12:00:00Z"}
METADATA END
METRICS OPERATOR COLLECTION START
METRICS OPERATOR TIMEPOINT
{"time":"2026-01-01T12:00:01Z","watts":81}
{"time":"2026-01-01T12:00:01Z","watts":79}
METRICS OPERATOR TIMEPOINT
watts 80
${end}`

const cutsOf = (entry: Entry | undefined) => (entry?.kind === 'log' ? entry.cuts : undefined)

t.test('a complete log whose rows are not read is not reported as cut', async (t) => {
  const whole = OTHER('METRICS OPERATOR COLLECTION END\n')
  const [log, ...others] = readLog(whole, { source: 'a' }, BUILT_IN_ROWS)
  t.strictSame(others, [])
  t.match(log, { kind: 'log', metric: 'my-metric', timepoints: 0 })
  t.strictSame(cutsOf(log), [])
  t.match(log, {
    notices: [
      'its rows are not read: the catalog does not describe the rows of my-metric (spec.rows)',
    ],
  })
  const origin = { source: 'a', metric: 'my-metric' }
  const [known] = readLog(whole.replace('my-metric', ''), origin, BUILT_IN_ROWS)
  t.strictSame(cutsOf(known), [], 'the caller can name the metric')
})

t.test('an incomplete log of a metric without a description is reported as cut', async (t) => {
  const [log] = readLog(OTHER(''), { source: 'a' }, BUILT_IN_ROWS)
  t.match(log, { cuts: ['timepoint 1 may be cut', /^its end is missing/] })
})

t.test('timepoints of io-sysstat without a valid document are reported as cut', async (t) => {
  const cut = OTHER('METRICS OPERATOR COLLECTION END\n').replace('my-metric', 'io-sysstat')
  const [log] = readLog(cut, { source: 'a' }, BUILT_IN_ROWS)
  t.match(log, { cuts: ['timepoint 0 is cut', 'timepoint 1 is cut', 'no timepoint has a row'] })
})

t.test('a part of a log without an end uses bounded memory, and is reported as cut', async (t) => {
  const line = 'x'.repeat(1 << 20)
  const lines = ['METRICS OPERATOR TIMEPOINT', ...Array.from({ length: 40 }, () => line)]
  const { push, open } = readBlocks()
  for (const one of lines) push(one)
  t.equal(open()?.lines.length, 16)
  const [timepoint] = push('METRICS OPERATOR COLLECTION END')
  t.match(timepoint, { kind: 'timepoint', isWhole: false })
})

t.test('runs of an observer beyond a limit are left out, and the log says so', async (t) => {
  const run = [
    'METADATA START {"metricName":"pressure"}',
    'METADATA END',
    'METRICS OPERATOR COLLECTION START',
    '{"time":"2026-11-25T10:00:00Z","section":"container","container":"app"}',
    'METRICS OPERATOR COLLECTION END',
  ]
  const reader = readLines({ source: 'a' }, BUILT_IN_ROWS, 2)
  const lines = [...run, ...run, ...run, ...run]
  const entries = [...lines.flatMap((line) => reader.push(line)), ...reader.end()]
  t.equal(entries.filter(({ kind }) => kind === 'container').length, 2)
  t.strictSame(
    logsOf(entries).map(({ source, cuts }) => [source, cuts]),
    [
      ['a', []],
      ['a#2', ['2 later runs of the observer are left out']],
    ],
  )
})

import { readFileSync } from 'node:fs'
import t from 'tap'
import type { RowsDescription } from '../../../../../src/core/catalog.ts'
import { readLog } from '../../../../../src/runs/log/read.ts'
import { addEntry, newRun } from '../../../../../src/runs/report/gather.ts'
import { BUILT_IN_ROWS } from '../../log/built-in.ts'
import { documentOf } from '../document-of.ts'

/** A log: its metric, its metadata, the lines of its rows, and those of its summary. */
interface Log {
  readonly metric: string
  /** The name of the log; the metric if it is missing. */
  readonly source?: string
  readonly metadata?: object
  readonly rows?: readonly (object | string)[]
  /** Undefined if the end of the log is missing. */
  readonly summary?: readonly object[] | undefined
}

const PLACE = { pod: 'lammps-0-abcde', namespace: 'hpc', node: 'n', completionIndex: '0' }

const recorded = (name: string) =>
  readFileSync(new URL(`../../../../logs/findings/${name}`, import.meta.url), 'utf8')

/** Returns the text of a log of a pod. */
function textOf({ metric, metadata, rows = [], summary }: Log): string {
  const own = { metricName: metric, ...PLACE, started: '2026-11-25T10:00:00Z', ...metadata }
  const head = [`METADATA START ${JSON.stringify(own)}`, 'METADATA END']
  const lines = rows.map((row) => (typeof row === 'string' ? row : JSON.stringify(row)))
  const end = summary && [
    'METRICS OPERATOR COLLECTION END',
    'SUMMARY START',
    ...[{ metric }, ...summary].map((line) => JSON.stringify(line)),
    'SUMMARY END',
  ]
  return [...head, 'METRICS OPERATOR COLLECTION START', ...lines, ...(end ?? [])].join('\n')
}

const DESCRIPTION: RowsDescription = {
  format: 'jsonl',
  sections: [
    {
      name: 'process',
      of: 'process',
      description: 'processes',
      columns: [
        { name: 'container', type: 'text', key: true, meaning: 'the container' },
        { name: 'program', type: 'text', key: true, meaning: 'the program' },
        { name: 'pid', type: 'number', key: true, meaning: 'the process id' },
        { name: 'cpu_seconds', type: 'number', unit: 's', behavior: 'counter', meaning: 'own' },
      ],
    },
  ],
}

/** Returns the pods of a report of logs. */
function podsIn(logs: readonly (Log | readonly [string, string])[], descriptions = BUILT_IN_ROWS) {
  const run = newRun(descriptions)
  for (const log of logs) {
    const [source, text] = 'metric' in log ? [log.source ?? log.metric, textOf(log)] : log
    for (const entry of readLog(text, { source }, descriptions)) addEntry(run, entry)
  }
  return documentOf(run, 'test').pods
}

/** Returns the numbers of a program of the only pod, and the logs that they come from. */
function programIn(logs: Parameters<typeof podsIn>[0], name = 'lmp', descriptions = BUILT_IN_ROWS) {
  const pods = podsIn(logs, descriptions)
  t.equal(pods.length, 1)
  return pods[0]?.programs.find(({ program }) => program === name)
}

const LMP = { program: 'lmp', container: 'app' }
const PERF_TOTALS = {
  processes: 1,
  peak_rss_kib: 2048,
  cpu_seconds: 6.9,
  bytes_read: 4096,
  bytes_written: null,
  context_switches: 10,
}
const PERF: Log = { metric: 'perf-sysstat', summary: [{ ...LMP, ...PERF_TOTALS }] }
const PRESSURE: Log = {
  metric: 'pressure',
  summary: [{ ...LMP, processes: 1, cpu_seconds: 6.8, run_delay: 1 }],
}
const PROFILE: Log = {
  metric: 'cpu-profile',
  summary: [{ ...LMP, profiles: 1, incomplete: 0, missing: 0, samples: 630, cpu_seconds: 6.3 }],
}

const CPU_TIME = { cpu_seconds: 6.9, sources: { cpu_seconds: { log: 'perf-sysstat' } } }

t.test('CPU time that three metrics measure is shown once', async (t) => {
  const found = programIn([PERF, PRESSURE, PROFILE])
  t.match(found, { ...PERF_TOTALS, ...CPU_TIME })
  t.equal(found?.sources.cpu_seconds?.reason, 'first in the catalog')
  t.match(programIn([PROFILE, PRESSURE]), {
    cpu_seconds: 6.8,
    processes: 1,
    sources: { cpu_seconds: { log: 'pressure', reason: 'counted instead of sampled' } },
  })
  t.match(programIn([PROFILE]), { cpu_seconds: 6.3, peak_rss_kib: null })
})

t.test('a process that has another name in another log is counted once', async (t) => {
  const wrapper = { ...LMP, program: 'wrapper.sh', processes: 1 }
  const renamed: Log = { metric: 'pressure', summary: [{ ...wrapper, cpu_seconds: 6.8 }] }
  const [pod, ...others] = podsIn([PERF, renamed])
  t.strictSame(others, [])
  t.strictSame(
    pod?.programs.map(({ program, cpu_seconds }) => [program, cpu_seconds]),
    [['lmp', 6.9]],
  )
})

t.test('a column of another metric with the same name changes nothing', async (t) => {
  const descriptions = new Map([['a-site', DESCRIPTION], ...BUILT_IN_ROWS])
  const row = { time: '2026-11-25T10:00:01.000Z', section: 'process', ...LMP, pid: 7 }
  const site: Log = {
    metric: 'a-site',
    rows: [{ ...row, cpu_seconds: 1000 }],
    summary: [{ ...LMP, processes: 9, cpu_seconds: 1000, peak_rss_kib: 1e9, bytes_read: 1e9 }],
  }
  for (const others of [[], [PERF], [PRESSURE], [PERF, PRESSURE, PROFILE]])
    t.strictSame(
      podsIn([...others, site], descriptions)[0]?.programs,
      podsIn(others)[0]?.programs ?? [],
    )
})

t.test('a metric that declares the quantity is a source like any other', async (t) => {
  const [section] = DESCRIPTION.sections
  const columns = section?.columns.map((column) => {
    return column.name === 'cpu_seconds' ? { ...column, quantity: 'process.cpu.time' } : column
  })
  const rows = { ...DESCRIPTION, sections: [{ ...section, columns }] } as RowsDescription
  const descriptions = new Map([['a-site', rows], ...BUILT_IN_ROWS])
  const row = { section: 'process', ...LMP }
  const site: Log = {
    metric: 'a-site',
    rows: [
      { time: '2026-11-25T10:00:01.000Z', ...row, pid: 7, cpu_seconds: 2 },
      { time: '2026-11-25T10:00:02.000Z', ...row, pid: 7, cpu_seconds: 5 },
      { time: '2026-11-25T10:00:02.000Z', ...row, pid: 8, cpu_seconds: 1 },
    ],
    summary: [],
  }
  t.match(programIn([site], 'lmp', descriptions), { cpu_seconds: 6, processes: 2 })
  t.match(programIn([site, PERF], 'lmp', descriptions), CPU_TIME, 'the summary is more complete')
})

const samples = (...seconds: readonly number[]) =>
  seconds.map((second) => ({
    time: `2026-11-25T10:00:0${second}.000Z`,
    section: 'process',
    ...LMP,
    pid: 7,
    run_delay: 0,
    cpu_time: second,
    majflt: 0,
  }))

t.test('the log with a summary is more complete than one that was cut', async (t) => {
  const cut: Log = { metric: 'pressure', rows: samples(1, 2, 3) }
  t.match(programIn([cut]), { cpu_seconds: 3, processes: 1 })
  t.match(programIn([cut, PERF]), CPU_TIME)
  t.match(programIn([{ ...PERF, summary: undefined }, PRESSURE]), { cpu_seconds: 6.8 })
})

t.test('a number that one log could not read comes from another', async (t) => {
  const unread = { ...PERF, summary: [{ ...LMP, ...PERF_TOTALS, cpu_seconds: null }] }
  t.match(programIn([unread, PRESSURE]), {
    peak_rss_kib: 2048,
    cpu_seconds: 6.8,
    bytes_written: null,
    sources: { cpu_seconds: { log: 'pressure', reason: 'the only known value' } },
  })
})

t.test('an observer that ended early, began late or left out processes comes last', async (t) => {
  const log = (metadata: object, whole = {}) => ({
    ...PERF,
    metadata,
    summary: [
      { metric: 'perf-sysstat', ...whole },
      { ...LMP, ...PERF_TOTALS },
    ],
  })
  for (const less of [log({ started: '2026-11-25T10:01:00Z' }), log({}, { processes_left_out: 3 })])
    t.match(programIn([less, PRESSURE]), { cpu_seconds: 6.8, peak_rss_kib: 2048 })
  const early = textOf(log({ metricOptions: { rate: 1, completions: 1 } })).replace(
    'COLLECTION START',
    'COLLECTION START\nMETRICS OPERATOR TIMEPOINT\nCPU STATISTICS TASK\n[{"time":100000,"pid":7,' +
      '"percent_cpu":10,"command":"lmp","container":"app","program":"lmp"}]',
  )
  t.match(programIn([['perf-sysstat', early], PRESSURE]), { cpu_seconds: 6.8, cpu_percent: 10 })
})

t.test('two containers of a program are added, whichever log is chosen for each', async (t) => {
  const other = { ...LMP, container: 'helper', processes: 2, cpu_seconds: 1 }
  const both = { ...PRESSURE, summary: [...(PRESSURE.summary ?? []), other] }
  t.match(programIn([PERF, both]), { cpu_seconds: 7.9, processes: 3, peak_rss_kib: 2048 })
})

t.test('a log that does not name its containers is not added to one that does', async (t) => {
  const { container: _, ...unnamed } = { ...LMP, ...PERF_TOTALS }
  const { summary = [] } = PRESSURE
  const both = [...summary, { ...LMP, container: 'helper', processes: 1, cpu_seconds: 1 }]
  const logs = [
    { ...PERF, summary: [unnamed] },
    { ...PRESSURE, summary: both },
  ]
  t.match(programIn(logs), { cpu_seconds: 6.9, processes: 1 })
})

t.test('two logs of one metric about the same pod are one measurement', async (t) => {
  t.match(programIn([PERF, { ...PERF, source: 'a copy' }]), CPU_TIME)
})

t.test('a process of both runs of a restarted observer counts once', async (t) => {
  const first = textOf({ metric: 'pressure', rows: samples(1, 2, 3) })
  const summary = [{ ...LMP, processes: 1, cpu_seconds: 6, run_delay: 1 }]
  const metadata = { started: '2026-11-25T10:00:05Z' }
  const again = textOf({ metric: 'pressure', metadata, rows: samples(5, 6), summary })
  t.match(programIn([['pressure', `${first}\n${again}`]]), { cpu_seconds: 6, processes: 1 })
  const others = samples(5, 6).map((row) => ({ ...row, pid: 8 }))
  const other = textOf({ metric: 'pressure', metadata, rows: others, summary })
  t.match(programIn([['pressure', `${first}\n${other}`]]), { cpu_seconds: 9, processes: 2 })
})

t.test('in logs of real runs, perf-sysstat shows the same with and without pressure', async (t) => {
  for (const kind of ['lammps', 'throttled', 'crowded', 'memory', 'storage', 'healthy']) {
    const [perf, pressure] = ['perf-sysstat', 'pressure'].map((metric) => {
      return [metric, recorded(`${metric}-${kind}.log`)] as const
    }) as [readonly [string, string], readonly [string, string]]
    const numbers = (logs: Parameters<typeof podsIn>[0]) =>
      podsIn(logs)[0]?.programs.map(({ sources: _, ...values }) => values)
    t.strictSame(numbers([perf, pressure]), numbers([perf]), kind)
    t.strictSame(numbers([pressure, perf]), numbers([perf]), kind)
  }
})

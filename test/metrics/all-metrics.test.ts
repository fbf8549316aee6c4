import { readdirSync, readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { loadCatalog } from '../../src/catalog/load.ts'
import type { RowsDescription } from '../../src/core/catalog.ts'
import { groupByPod } from '../../src/runs/evidence/run-evidence.ts'
import { descriptionsIn } from '../../src/runs/log/descriptions.ts'
import { readLog } from '../../src/runs/log/read.ts'
import { timeByProgram } from '../../src/runs/metrics/processor-time.ts'
import { podsIn } from '../../src/runs/report/assess.ts'
import { pageData } from '../../src/runs/report/data.ts'
import { addEntry, newRun } from '../../src/runs/report/gather.ts'
import { chooseColumns } from '../../src/runs/top/columns.ts'
import { startLiveLog } from '../../src/runs/top/live-log.ts'
import { buildLines, type LivePod } from '../../src/runs/top/pods.ts'
import { subsetsOf } from '../properties/subsets.ts'
import { documentOf } from '../src/runs/report/document-of.ts'
import { NOT_RECORDED } from './recorded.ts'

// All built-in metrics have observed one run on a real cluster (test/logs/all-metrics). Whichever
// of them are collected, each number is the one that a metric shows alone.

const FOLDER = new URL('../logs/all-metrics/', import.meta.url)
const KNOWN = descriptionsIn(await loadCatalog({}))
const METRICS = [...KNOWN.keys()].filter((metric) => !NOT_RECORDED.includes(metric))

interface Log {
  readonly pod: string
  readonly metric: string
  readonly text: string
}

const LOGS: readonly Log[] = readdirSync(FOLDER)
  .sort()
  .flatMap((file) => {
    const [, pod, metric] = /^(.*)\.([a-z-]+)\.log$/.exec(file) ?? []
    if (pod === undefined || metric === undefined) return []
    return [{ pod, metric, text: readFileSync(new URL(file, FOLDER), 'utf8') }]
  })
const PODS = [...new Set(LOGS.map(({ pod }) => pod))]

function readRun(metrics: readonly string[], more: readonly Log[] = [], descriptions = KNOWN) {
  const run = newRun(descriptions)
  const own = LOGS.filter(({ metric }) => metrics.includes(metric))
  for (const { pod, metric, text } of [...own, ...more])
    for (const entry of readLog(text, { source: `${pod}.${metric}.log` }, descriptions))
      addEntry(run, entry)
  return run
}

/** Returns the numbers that the first table of the page, the JSON, the findings and `top` show. */
function numbersOf(metrics: readonly string[]) {
  const run = readRun(metrics)
  const { podOf } = podsIn(run)
  return {
    document: documentOf(run, 'test'),
    page: pageData(run, 'process'),
    times: new Map(
      groupByPod(run.evidence, podOf).pods.map((pod) => [pod.pod, timeByProgram(pod)]),
    ),
    top: topOf(metrics),
  }
}

type Numbers = ReturnType<typeof numbersOf>

/** Returns the values of the last timepoint by pod and title, in the units of the table. */
function topOf(metrics: readonly string[]): ReadonlyMap<string, number | null> {
  const columns = chooseColumns(KNOWN, new Set(metrics), []).filter(
    ({ title }) => title !== 'MEMORY',
  )
  const values = new Map<string, number | null>()
  for (const line of buildLines(
    PODS.map((pod) => livePod(pod, metrics)),
    columns,
    'pod',
    { now: 0, findings: new Map() },
  ))
    for (const [index, { title, factor }] of columns.entries()) {
      const value = line.values[index] ?? null
      values.set(`${line.pod} ${title}`, value === null ? null : value * factor)
    }
  return values
}

function livePod(pod: string, metrics: readonly string[]): LivePod {
  const state = { hasStarted: true, isRead: true, isOver: false, seenAt: undefined, clockAhead: 0 }
  const observers = LOGS.filter((log) => log.pod === pod && metrics.includes(log.metric)).map(
    ({ metric, text }) => {
      const log = startLiveLog(KNOWN.get(metric) as RowsDescription)
      const [rows = ''] = text.split('METRICS OPERATOR COLLECTION END')
      for (const [index, line] of rows.trimEnd().split('\n').entries()) log.push(line, index + 1)
      log.settle()
      return { metric, log, isShown: true, mpi: undefined, ...state }
    },
  )
  return { namespace: 'hpc', pod, node: null, pod_index: null, observers }
}

const ALONE = new Map(METRICS.map((metric) => [metric, numbersOf([metric])]))

/** Returns the values that metrics show alone, without those that they do not know. */
function known<Value>(
  metrics: readonly string[],
  read: (numbers: Numbers) => Value | null | undefined,
): readonly Value[] {
  return metrics.flatMap((metric) => {
    const numbers = ALONE.get(metric)
    const value = numbers && read(numbers)
    return value === null || value === undefined ? [] : [value]
  })
}

type Program = Numbers['document']['pods'][number]['programs'][number]

function programIn({ document }: Numbers, pod: string, name: string): Program | undefined {
  const found = document.pods.find((one) => one.podIndex === pod)
  return found?.programs.find(({ program }) => program === name)
}

const FIELDS = [
  ...(['processes', 'cpu_seconds', 'peak_rss_kib', 'bytes_read', 'bytes_written'] as const),
  ...(['context_switches', 'cpu_percent', 'voluntary_switches_per_second'] as const),
  'involuntary_switches_per_second',
] as const

t.test(
  'the recording has all metrics but those of Python and NCCL of two pods, with LAMMPS in each',
  async (t) => {
    t.equal(LOGS.length, 2 * METRICS.length)
    for (const metric of ['perf-sysstat', 'pressure', 'cpu-profile'])
      for (const pod of ['0', '1']) {
        const own = ALONE.get(metric)
        t.ok(Number(own && programIn(own, pod, 'lmp')?.cpu_seconds) > 1, `${metric} ${pod}`)
      }
  },
)

for (const metrics of subsetsOf(METRICS)) {
  t.test(`${metrics.join(', ') || 'no metric'}: the numbers are those of one metric`, async (t) => {
    const numbers = numbersOf(metrics)
    documentAgrees(t, numbers, metrics)
    pageAgrees(t, numbers)
    for (const [pod, times] of numbers.times) {
      const all = known(metrics, (one) => one.times.get(pod)).filter(({ size }) => size > 0)
      t.ok(all.length === 0 || all.some((one) => isSame(one, times)), `findings on pod ${pod}`)
    }
    for (const [place, value] of numbers.top) {
      const all = known(metrics, ({ top }) => top.get(place))
      t.ok(value === null ? all.length === 0 : all.includes(value), `top: ${place} is ${value}`)
    }
  })
}

/** Verifies that each number of the JSON is that of the metric that the JSON names. */
function documentAgrees(t: Test, { document }: Numbers, metrics: readonly string[]): void {
  for (const { podIndex, programs, mpi_ranks = [] } of document.pods) {
    for (const field of FIELDS) {
      const from = chosenFor(field, programs, metrics)
      for (const program of programs) numberAgrees(t, { pod: podIndex, program, field }, from)
    }
    const traced = ALONE.get('mpi-trace')?.document.pods.find((one) => one.podIndex === podIndex)
    t.strictSame(mpi_ranks, metrics.includes('mpi-trace') ? traced?.mpi_ranks : [])
  }
}

/**
 * Returns the metrics that the values of a field come from, or all metrics if there are none. All
 * programs of a container have a total from the same log, and a process that executes another
 * program can have a name in another log that this log does not have.
 */
function chosenFor(
  field: string,
  programs: readonly Program[],
  metrics: readonly string[],
): readonly string[] {
  const chosen = new Set(programs.flatMap(({ sources }) => sourceIn(sources, field) ?? []))
  return chosen.size === 0 ? metrics : [...chosen]
}

interface NumberPlace {
  readonly pod: string
  readonly program: Program
  readonly field: (typeof FIELDS)[number]
}

function numberAgrees(
  t: Test,
  { pod, program, field }: NumberPlace,
  metrics: readonly string[],
): void {
  const value = numberIn(program, field)
  const source = sourceIn(program.sources, field) ?? ''
  const read = (one: Numbers) => numberIn(programIn(one, pod, program.program), field)
  const where = `${field} of ${program.program} on pod ${pod}`
  if (value === null) t.strictSame(known(metrics, read), [], where)
  else t.strictSame(known([source], read), [value], `${where}, from ${source}`)
}

/** Returns the metric that a field of a program comes from. */
function sourceIn(sources: Program['sources'], field: string): string | undefined {
  const known: Readonly<Record<string, { readonly metric: string } | undefined>> = sources
  return known[field]?.metric
}

function numberIn(program: Program | undefined, field: string): number | null {
  const values: Readonly<Record<string, unknown>> = program ?? {}
  const value = values[field]
  return typeof value === 'number' ? value : null
}

function isSame(a: ReadonlyMap<string, number>, b: ReadonlyMap<string, number>): boolean {
  return a.size === b.size && [...a].every(([key, value]) => b.get(key) === value)
}

/** Verifies that the first table of the page has the numbers of the JSON. */
function pageAgrees(t: Test, numbers: Numbers): void {
  const { columns, rows } = numbers.page
  t.equal(rows.length, numbers.document.pods.flatMap(({ programs }) => programs).length)
  for (const { pod, program, values } of rows) {
    const shown = Object.fromEntries(columns.map(({ key }, index) => [key, values[index] ?? null]))
    const found = programIn(numbers, pod, program)
    const mib = (bytes: number | null | undefined) =>
      typeof bytes === 'number' ? bytes / 2 ** 20 : null
    t.strictSame(
      [shown.processes, shown.cpu_seconds, shown.read, shown.written],
      [found?.processes, found?.cpu_seconds, mib(found?.bytes_read), mib(found?.bytes_written)],
      `${program} on pod ${pod} of the page`,
    )
  }
}

t.test('a metric of its own with a column cpu_seconds changes no number', async (t) => {
  const rows: RowsDescription = {
    format: 'jsonl',
    sections: [
      {
        name: 'process',
        of: 'process',
        description: 'processes',
        columns: [
          { name: 'program', type: 'text', key: true, meaning: 'the program' },
          { name: 'pid', type: 'number', key: true, meaning: 'the process id' },
          { name: 'cpu_seconds', type: 'number', unit: 's', behavior: 'counter', meaning: 'own' },
        ],
      },
    ],
  }
  const descriptions = new Map([['a-site', rows], ...KNOWN])
  const site = LOGS.filter(({ metric }) => metric === 'perf-sysstat').map(({ pod, text }) => {
    const head = text.slice(0, text.indexOf('METADATA END')).replaceAll('perf-sysstat', 'a-site')
    const cells = { program: 'lmp', pid: 1, cpu_seconds: 1e6 }
    const row = JSON.stringify({ time: '2026-11-25T10:00:00Z', section: 'process', ...cells })
    const summary = JSON.stringify({ ...cells, processes: 99, bytes_read: 1, peak_rss_kib: 1e9 })
    const markers = ['START', 'END'].map((end) => `METRICS OPERATOR COLLECTION ${end}`)
    const lines = [markers[0], row, markers[1], 'SUMMARY START', summary, 'SUMMARY END']
    return { pod, metric: 'a-site', text: `${head}METADATA END\n${lines.join('\n')}\n` }
  })
  t.equal(site.length, 2)
  for (const metrics of subsetsOf(METRICS)) {
    const numbers = (run: ReturnType<typeof readRun>) =>
      documentOf(run, 'test').pods.flatMap(({ programs }) => programs)
    t.strictSame(numbers(readRun(metrics, site, descriptions)), numbers(readRun(metrics)))
  }
})

import fc from 'fast-check'
import t from 'tap'
import { VERDICTS, type VerdictKind } from '../../src/runs/efficiency/verdict.ts'
import type { EndedContainer, ObservedPods } from '../../src/runs/log/entry.ts'
import { readLog } from '../../src/runs/log/read.ts'
import { assessRun } from '../../src/runs/report/assess.ts'
import { addEntry, newRun } from '../../src/runs/report/gather.ts'
import { BUILT_IN_ROWS } from '../src/runs/log/built-in.ts'
import { recordedEnds, recordedLogs } from '../src/runs/report/recorded-run.ts'

// A run of which less is known has no better verdict. The runs are generated, and those of
// test/logs/verdict.

/** A log of a run, with what `collect` knows about its pod. */
interface Log {
  readonly name: string
  readonly metric: string
  readonly text: string
  readonly ended: readonly EndedContainer[] | null
  readonly observedPods: ObservedPods | null
}

function kindOf(logs: readonly Log[]): number {
  const run = newRun(BUILT_IN_ROWS)
  for (const { name: source, text, ended, observedPods } of logs)
    for (const entry of readLog(text, { source, ended, observedPods }, BUILT_IN_ROWS))
      addEntry(run, entry)
  return VERDICTS.indexOf(assessRun(run).kind)
}

/** Returns the runs in which something of a run is missing, each with a description. */
function* lesserRuns(logs: readonly Log[]) {
  for (const metric of new Set(logs.map((log) => log.metric)))
    yield [`without ${metric}`, logs.filter((log) => log.metric !== metric)] as const
  for (const [index, log] of logs.entries()) {
    const lines = log.text.split('\n')
    const end = lines.findIndex((line) => line.startsWith('METRICS OPERATOR COLLECTION END'))
    for (const last of [end, Math.floor(end / 2)].filter((line) => line > 4)) {
      const cut = { ...log, text: `${lines.slice(0, last).join('\n')}\n` }
      yield [`${log.name} has no end`, logs.with(index, cut)] as const
    }
    yield [`without ${log.name}`, logs.toSpliced(index, 1)] as const
  }
}

/** Checks a run, and returns why a lesser one has a better verdict; undefined if none has. */
function findBetter(logs: readonly Log[]): string | undefined {
  const kind = kindOf(logs)
  for (const [what, others] of lesserRuns(logs))
    if (others.length > 0 && kindOf(others) > kind)
      return `${what}: ${VERDICTS[kindOf(others)]} instead of ${VERDICTS[kind]}`
  return undefined
}

for (const folder of ['healthy', 'crash', 'hang', 'killed', 'sampled', 'sleeping', 'storage'])
  t.test(`a recorded run that lacks something has no better verdict: ${folder}`, async (t) => {
    const ends = recordedEnds(folder)
    const logs = recordedLogs(folder).map((log) => {
      return { ...log, ended: ends[log.pod] ?? null, observedPods: null }
    })
    t.equal(findBetter(logs), undefined)
  })

/** What a process did, as parts of its time. */
interface Given {
  readonly inMpi: number
  readonly waited: number
  readonly asleep: number
  readonly stored: number
}

/** A run of which all is known: each of its pods has a log of each metric. */
interface GivenRun {
  readonly isMpi: boolean
  /** The processes of each pod. */
  readonly pods: readonly (readonly Given[])[]
  /** The part of the periods in which the CPU limit was used up. */
  readonly throttled: number
  readonly exitCode: number | null
  readonly isFinalized: boolean
  readonly hasStorage: boolean
}

const TIMES = Array.from({ length: 12 }, (_, index) => 3 * index)
const START = Date.UTC(2026, 10, 29)

const row = (at: number, section: string, cells: object) =>
  JSON.stringify({ time: new Date(START + 1000 * at).toISOString(), section, ...cells })

function logOf(run: GivenRun, metric: string, pod: number, rows: readonly string[]): Log {
  const name = `steps-${pod}`
  const metadata = { metricName: metric, metricOptions: { rate: 3 }, pod: name, namespace: 'hpc' }
  const place = { node: 'node-1', completionIndex: String(pod), container: 'app' }
  const started = { started: new Date(START).toISOString() }
  const total = run.pods.length
  const end = { restarted: false, deleted: false, signal: null, reason: null, finishedAt: null }
  return {
    name: `${name}.${metric}.log`,
    metric,
    text: [
      `METADATA START ${JSON.stringify({ ...metadata, ...place, ...started })}`,
      'METADATA END',
      'METRICS OPERATOR COLLECTION START',
      ...rows,
      'METRICS OPERATOR COLLECTION END',
      '',
    ].join('\n'),
    ended: run.exitCode === null ? null : [{ container: 'app', exitCode: run.exitCode, ...end }],
    observedPods: { workload: 'job/steps', total, observed: total, metrics: {} },
  }
}

function vitalsRows(run: GivenRun, processes: readonly Given[]): readonly string[] {
  return TIMES.flatMap((at) => [
    ...processes.flatMap(({ waited, asleep, stored, inMpi }, index) => {
      const rest = 1 - waited - (1 - inMpi) * (asleep + stored)
      const who = { container: 'app', program: 'steps', pid: 10 + index }
      const times = { cpu_time: at * rest, run_delay: at * waited, percent_cpu: 100 * rest }
      const io = {
        majflt: 0,
        kb_rd_s: 0,
        kb_wr_s: 0,
        iodelay: run.hasStorage ? 300 * stored : null,
      }
      const place = { cpus_allowed: '0-7', cpus_allowed_count: 8, numa: '0:1024', numa_remote: 0 }
      const libraries = run.isMpi ? 'mpi' : 'none'
      return [
        row(at, 'process', { ...who, ...times, ...io, rss: 1024 }),
        row(at, 'placement', { ...who, ...place, pss: 512, swap_pss: 0, libraries }),
        row(at, 'peer', { ...who, peer: '10.0.0.2', send_queue: 0, rtt: 0.1, bytes_sent: at }),
      ]
    }),
    row(at, 'container', {
      ...{ container: 'app', nr_periods: 10 * at, nr_throttled: 10 * at * run.throttled },
      ...{ throttled: at * run.throttled, cpu_usage: at, cpu_limit: 2, memory_some: 0 },
      ...{ memory_full: 0, memory_current: 1e8, memory_anon: 1e8, memory_limit: 1e9, oom_kill: 0 },
      ...{ oom: 0, memory_max: 0, memory_high: 0 },
    }),
    row(at, 'tcp', { scope: 'pod', out_segments: 10 * at, retransmitted: 0, timeouts: 0 }),
    row(at, 'interface', { interface: 'eth0', scope: 'pod', tx_bytes: at, rx_bytes: at }),
  ])
}

function mpiRows(run: GivenRun, first: number, processes: readonly Given[]): readonly string[] {
  const size = run.pods.flat().length
  return TIMES.flatMap((at) =>
    processes.map(({ inMpi, waited, asleep, stored }, index) => {
      const isLast = at === TIMES.at(-1)
      const who = { container: 'app', program: 'steps', pid: 10 + index, mpi_rank: first + index }
      const state = isLast ? (run.isFinalized ? 'finalized' : 'lost') : 'running'
      return row(at, 'rank', {
        ...{ ...who, mpi_size: size, mpi_library: 'MPICH', job: '7', state, elapsed: at },
        ...{
          mpi_seconds: at * inMpi,
          calls: at,
          bytes: 0,
          wait_outside: at * waited * (1 - inMpi),
        },
        ...{ wait_in_mpi: at * waited * inMpi, fast_seconds: 0 },
        asleep_outside: at * (1 - inMpi) * (asleep + stored),
      })
    }),
  )
}

function logsOf(run: GivenRun): readonly Log[] {
  let first = 0
  return run.pods.flatMap((processes, pod) => {
    const own = first
    first += processes.length
    const vitals = logOf(run, 'vitals', pod, vitalsRows(run, processes))
    if (!run.isMpi) return [vitals]
    return [vitals, logOf(run, 'mpi-trace', pod, mpiRows(run, own, processes))]
  })
}

const part = fc.constantFrom(0, 0.05, 0.3)
const given = fc.record({ inMpi: part, waited: part, asleep: part, stored: part })
const anyRun: fc.Arbitrary<GivenRun> = fc.record({
  isMpi: fc.boolean(),
  pods: fc.array(fc.array(given, { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 4 }),
  throttled: part,
  exitCode: fc.constantFrom(null, 0, 0, 139),
  isFinalized: fc.constantFrom(true, true, false),
  hasStorage: fc.constantFrom(true, true, false),
})

/** A run of two pods that nothing held up, with these changes. */
const runWith = (changes: Partial<GivenRun>, process: Partial<Given> = {}): GivenRun => {
  const one = { inMpi: 0.05, waited: 0, asleep: 0, stored: 0, ...process }
  const known = { throttled: 0, exitCode: 0, isFinalized: true, hasStorage: true }
  return { isMpi: true, pods: [[one], [one]], ...known, ...changes }
}

/** A run for each verdict. */
const EXAMPLES: Readonly<Record<VerdictKind, GivenRun>> = {
  'partly-seen': runWith({ hasStorage: false }),
  failed: runWith({ exitCode: 139 }),
  'held-up': runWith({ throttled: 0.3 }),
  inefficient: runWith({}, { asleep: 0.3 }),
  well: runWith({}),
}

t.test('a generated run that lacks something has no better verdict', async (t) => {
  for (const [kind, run] of Object.entries(EXAMPLES)) t.equal(VERDICTS[kindOf(logsOf(run))], kind)
  fc.assert(
    fc.property(anyRun, (run) => findBetter(logsOf(run)) === undefined),
    { numRuns: 40, examples: Object.values(EXAMPLES).map((run) => [run] as [GivenRun]) },
  )
})

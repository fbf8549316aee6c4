import type { RowColumn, RowSection, RowsDescription } from '../../../../src/core/catalog.ts'
import {
  addPodToEvidence,
  addToEvidence,
  type Evidence,
  newEvidence,
} from '../../../../src/runs/evidence/evidence.ts'
import { groupByPod } from '../../../../src/runs/evidence/run-evidence.ts'
import { type Findings, findFindings } from '../../../../src/runs/findings/evaluate.ts'
import { RULE_NEEDS } from '../../../../src/runs/findings/rules.ts'
import type { Cell, Sample } from '../../../../src/runs/log/columns.ts'
import type { Descriptions } from '../../../../src/runs/log/descriptions.ts'
import type { EndedContainer, LogEntry, PodLimits } from '../../../../src/runs/log/entry.ts'
import { METRICS } from '../../../../src/runs/metrics/index.ts'
import { BUILT_IN_ROWS } from '../log/built-in.ts'

// Builds rows for tests of rules. These rows are inputs, whose numbers a test chooses; no observer
// wrote them. The test test/cluster/with-node/results/findings.test.ts checks rules with real logs.

const text = (name: string, key?: true): RowColumn => ({
  name,
  type: 'text',
  meaning: name,
  ...(key && { key }),
})
const count = (name: string, unit = 'count'): RowColumn => ({
  name,
  type: 'number',
  unit,
  behavior: 'counter',
  meaning: name,
})
const gauge = (name: string, unit: string): RowColumn => ({
  ...count(name, unit),
  behavior: 'gauge',
})
const section = (
  name: string,
  of: RowSection['of'],
  columns: readonly RowColumn[],
): RowSection => ({ name, of, description: name, columns })

/** Describes the rows of the metric network, with only the columns that rules read. */
const NETWORK: RowsDescription = {
  format: 'jsonl',
  sections: [
    section('tcp', 'pod', [
      text('scope'),
      ...['out_segments', 'retransmitted', 'timeouts'].map((name) => count(name)),
    ]),
    section('socket', 'process', [
      ...['container', 'program', 'peer'].map((name) => text(name, true)),
      { name: 'pid', type: 'number', key: true, meaning: 'pid' },
      gauge('send_queue', 'bytes'),
      gauge('rtt', 'ms'),
      count('bytes_sent', 'bytes'),
    ]),
  ],
}

export const DESCRIPTIONS: Descriptions = new Map([['network', NETWORK], ...BUILT_IN_ROWS])

/**
 * Cells of a row by column: for a counter, its growth per second; for others, the value, or a
 * function of the seconds since the first sample.
 */
export type Rates = Readonly<Record<string, Cell | ((seconds: number) => number)>>

/** The cells of a pod's rows, by section. */
export interface Sections {
  readonly container?: Rates
  readonly process?: Rates
  readonly placement?: Rates
  readonly perf?: Rates
  readonly tcp?: Rates
  readonly socket?: Rates
  readonly profile?: Rates
  readonly function?: Rates
  readonly python?: Rates
  readonly line?: Rates
  readonly now?: Rates
  readonly stack?: Rates
  readonly mpi?: Rates
  readonly communicator?: Rates
  readonly call?: Rates
  readonly block?: Rates
  readonly open?: Rates
  readonly progress?: Rates
  readonly gpu?: Rates
  readonly torch?: Rates
  readonly group?: Rates
  readonly collective?: Rates
}

const PLACES = {
  container: ['pressure', 'container'],
  process: ['pressure', 'process'],
  placement: ['pressure', 'placement'],
  perf: ['perf-sysstat', 'process'],
  tcp: ['network', 'tcp'],
  socket: ['network', 'socket'],
  profile: ['cpu-profile', 'process'],
  function: ['cpu-profile', 'function'],
  python: ['python-profile', 'process'],
  line: ['python-profile', 'function'],
  now: ['python-profile', 'now'],
  stack: ['python-profile', 'stack'],
  // In a log, the row of a process precedes its other rows.
  mpi: ['mpi-trace', 'rank'],
  communicator: ['mpi-trace', 'communicator'],
  call: ['mpi-trace', 'call'],
  block: ['mpi-trace', 'block'],
  open: ['mpi-trace', 'open'],
  progress: ['mpi-trace', 'progress'],
  gpu: ['gpu', 'device'],
  // In a log, the row of a process group precedes its calls.
  torch: ['torch-collectives', 'process'],
  group: ['torch-collectives', 'group'],
  collective: ['torch-collectives', 'collective'],
} as const

const MIB = 1024 * 1024

/** A pod that computes nearly all of the time, on a node with 64 processors. */
const HEALTHY: Required<Sections> = {
  container: {
    nr_periods: 0,
    nr_throttled: 0,
    throttled: 0,
    cpu_usage: 0.95,
    cpu_limit: null,
    memory_some: 0,
    memory_full: 0,
    io_some: 0.002,
    io_full: 0.001,
    memory_current: 600 * MIB,
    memory_anon: 500 * MIB,
    memory_peak: 600 * MIB,
    memory_limit: 1024 * MIB,
    memory_max: 0,
    oom_kill: 0,
    unlimited: 'cpu',
  },
  process: { run_delay: 0.005, cpu_time: 0.95, majflt: 0.1 },
  placement: {
    cpus_allowed: '0-63',
    cpus_allowed_count: 64,
    pss: 500 * 1024,
    swap_pss: 0,
    numa: '0:512000',
    numa_remote: 0,
  },
  perf: { percent_cpu: 95, percent_wait: 0.5, iodelay: 0, rss: 510 * 1024, kb_rd_s: 0, kb_wr_s: 1 },
  tcp: { scope: 'pod', out_segments: 1000, retransmitted: 1, timeouts: 0 },
  socket: { peer: '10.0.0.2', send_queue: 0, rtt: 0.1, bytes_sent: 100_000 },
  profile: { samples: 11_400, cpu_seconds: 114, frequency: 100, profile: 'complete' },
  function: {
    function: 'PairLJCut::compute',
    library: 'liblammps.so.0',
    ...{ samples_self: 8000, samples_total: 8000, self_seconds: 80, total_seconds: 80 },
  },
  python: {
    ...{ python: '3.12', state: 'running', sampler: 'sampling', samples: 100, unread: 0 },
    ...{ main_seconds: 1, main_running: 0.6, sampler_seconds: 0.01 },
  },
  line: {
    ...{ threads: 'main', function: 'next_batch (loader.py:40)', samples_self: 4000 },
    ...{ samples_total: 4000, self_wall: 40, self_running: 0, total_wall: 40, total_running: 0 },
  },
  now: {
    ...{ thread: 101, threads: 'other', activity: 'running', unchanged: 0 },
    stack: '<module> (train.py:60);step (train.py:12)',
  },
  stack: {
    ...{ threads: 'main', stack: '<module> (train.py:60);next_batch (loader.py:40)' },
    ...{ samples: 9000, wall: 90, running: 60 },
  },
  // The only process of its job.
  mpi: {
    ...{ mpi_rank: 0, mpi_size: 1, mpi_library: 'MPICH 4.0.2', job: 'alone', state: 'running' },
    ...{ elapsed: 1, mpi_seconds: 0.1, calls: 100, bytes: 1000 },
  },
  communicator: { mpi_rank: 0, communicator: 'world', size: 1, collectives: 0, mpi_seconds: 0 },
  call: {
    ...{ mpi_rank: 0, call: 'MPI_Allreduce', communicator: 'world', mpi_peer: 'none' },
    ...{ calls: 10, mpi_seconds: 0.1, max_ms: 20, bytes: 100 },
  },
  block: {
    ...{ mpi_rank: 0, communicator: 'world', first: 0, collectives: 10 * 120 },
    mpi_seconds: 0,
  },
  open: {
    ...{ mpi_rank: 0, thread: 100, call: null, elapsed: 1, since: (seconds) => seconds },
    ...{ longest_gap: 0.1, process_state: 'running', cpu_time: 0.95 },
  },
  progress: { mpi_rank: 0, communicator: 'world', size: 1, begun: 10 },
  gpu: {
    ...{ device: '0000:03:00.0', driver: 'amdgpu', gpu_busy: 90, memory_used: 4096 * MIB },
    ...{ memory_total: 16_384 * MIB, power_limited: 0, heat_limited: 0 },
  },
  // The only member of its process group.
  torch: { world_rank: 0, world_size: 1, state: 'running', copies: 1 / 60, longest_copy: 0.05 },
  group: { world_rank: 0, group: '0', description: 'default_pg', size: 1, members: '0' },
  collective: {
    ...{ world_rank: 0, group: '0', operation: 'gloo:all_reduce', state: 'scheduled' },
    ...{ number: (seconds) => seconds, called: (seconds) => 1000 + seconds },
  },
}

/** The length of the generated runs in seconds, and the seconds between two samples. */
export const LENGTH = 120
const STEP = 10

/**
 * The seconds of the first rows of a section, if there are none at 0 s: a sample of perf-sysstat
 * describes the interval before it, and a profile the whole run.
 */
const FIRST: Readonly<Partial<Record<keyof Sections, number>>> = {
  perf: STEP,
  profile: LENGTH,
  function: LENGTH,
  line: LENGTH,
  stack: LENGTH,
  communicator: LENGTH,
  call: LENGTH,
  block: LENGTH,
}

/** The node, the further processes and the sections of a pod. */
export interface PodOptions {
  readonly node?: string
  /** For each process after the first: the cells that differ from those of a healthy process. */
  readonly others?: readonly Sections[]
  /** The sections for which rows are built; all by default. */
  readonly only?: readonly (keyof Sections)[]
  /** The seconds between two samples. */
  readonly step?: number
  /** How the containers of the pod ended. */
  readonly ended?: Ended
}

/**
 * Returns the rows of a pod in the order of time.
 *
 * @param changes the cells that differ from those of a healthy pod
 */
export function podRows(
  index: string,
  changes: Sections = {},
  { node = 'node-1', others = [], only, step = STEP }: PodOptions = {},
): readonly Sample[] {
  const names = (Object.keys(PLACES) as (keyof Sections)[]).filter(
    (name) => only === undefined || only.includes(name),
  )
  const processes = [changes, ...others]
  const rows = names.flatMap((name) => {
    const isOnce = ['container', 'tcp', 'profile', 'function', 'python', 'line', 'gpu'].includes(
      name,
    )
    return (isOnce ? [changes] : processes).flatMap((own, at) => {
      const cells = { ...HEALTHY[name], ...own[name] }
      const identity = { container: 'app', program: 'lmp', pid: 100 + at }
      const all = times(step).filter((second) => second >= (FIRST[name] ?? 0))
      return all.map((seconds) => sample({ index, node, name, seconds, step }, identity, cells))
    })
  })
  return rows.sort((a, b) => a.seconds - b.seconds)
}

function times(step: number): readonly number[] {
  return Array.from({ length: LENGTH / step + 1 }, (_, index) => index * step)
}

/** Returns the time that is this many seconds after the first sample. */
function timeAt(seconds: number): string {
  return new Date(1.79e12 + seconds * 1000).toISOString()
}

interface At {
  readonly index: string
  readonly node: string
  readonly name: keyof Sections
  readonly seconds: number
  readonly step: number
}

function sample({ index, node, name, seconds, step }: At, identity: Rates, rates: Rates): Sample {
  const [metric, section] = PLACES[name]
  const known = DESCRIPTIONS.get(metric)?.sections.find((one) => one.name === section)
  if (known === undefined) throw new Error(`${metric} has no section ${section}`)
  const pod = `job-${index}-abcde`
  const cells = { ...identity, ...rates }
  return {
    kind: known.of,
    source: `hpc/${pod}/${metric}`,
    metric,
    namespace: 'hpc',
    pod,
    node,
    pod_index: index,
    timepoint: seconds / step,
    time: timeAt(seconds),
    seconds,
    interval: step,
    section,
    ...Object.fromEntries(
      known.columns.map(({ name: column, behavior }) => {
        const written = (cells as Rates)[column] ?? null
        const cell = typeof written === 'function' ? written(seconds) : written
        const isCount = behavior === 'counter' && typeof cell === 'number'
        return [column, isCount ? cell * seconds : cell]
      }),
    ),
  } as Sample
}

/** The sections of vitals that have the columns of these sections of other metrics. */
const IN_VITALS: Readonly<Record<string, string>> = {
  'perf-sysstat process': 'process',
  'pressure process': 'process',
  'pressure container': 'container',
  'pressure placement': 'placement',
  'network tcp': 'tcp',
  'network socket': 'peer',
}

/**
 * Returns the rows that vitals has in place of those of perf-sysstat, pressure and network. A
 * process has one row with the columns of both metrics.
 */
export function asVitals(rows: readonly Sample[]): readonly Sample[] {
  const joined = new Map<string, Sample>()
  for (const row of rows) {
    const section = IN_VITALS[`${row.metric} ${row.section}`]
    const { pod, pid, timepoint } = row
    const key = [pod, section, pid, timepoint, section === undefined ? joined.size : ''].join()
    const source = `hpc/${pod}/vitals`
    const own = section === undefined ? row : { ...row, source, metric: 'vitals', section }
    // Of two values of one column, such as `container`, both are the same.
    joined.set(key, { ...joined.get(key), ...own } as Sample)
  }
  return [...joined.values()]
}

/** Reads these rows. */
export function evidenceOf(rows: readonly Sample[]): Evidence {
  const evidence = newEvidence(RULE_NEEDS, METRICS)
  for (const row of rows) {
    const description = DESCRIPTIONS.get(row.metric ?? '')
    if (description !== undefined) addToEvidence(evidence, row, description)
  }
  return evidence
}

/** Returns the pod of a log. */
export const podOf = (source: string) => /job-(\w+)-/.exec(source)?.[1] ?? source

/** How a container ended. */
interface End {
  readonly exitCode: number
  readonly reason?: string
  /** When it ended, in seconds since the first sample; not known by default. */
  readonly seconds?: number
  readonly restarted?: boolean
  readonly deleted?: boolean
}

/** Returns the end of the container app. */
export function endOf({ exitCode, reason = 'Error', seconds, ...facts }: End): EndedContainer {
  const { restarted = false, deleted = false } = facts
  const finishedAt = seconds === undefined ? null : timeAt(seconds)
  return { container: 'app', reason, exitCode, signal: null, finishedAt, restarted, deleted }
}

/** How the containers of a pod ended; of a pod whose containers still run, none. */
type Ended = LogEntry['ended']

/**
 * Checks all rules with these rows.
 *
 * @param endedOf returns how the containers of a pod ended
 */
export function findIn(
  rows: readonly Sample[],
  endedOf: (pod: string) => Ended = () => [],
  podLimits: PodLimits | null = null,
): Findings {
  const pods = [...new Set(rows.map(({ pod_index }) => pod_index ?? ''))]
  const evidence = evidenceOf(rows)
  for (const source of new Set(rows.map((row) => row.source))) {
    const ended = endedOf(podOf(source ?? ''))
    addPodToEvidence(evidence, { source, ended, podLimits, summary: [] })
  }
  return findFindings(groupByPod(evidence, podOf), pods)
}

/** Returns each finding as a short text: the rule and its pods, such as `throttled 3, 5`. */
export function inShort({ findings }: Findings): readonly string[] {
  return findings.map(({ rule, pods }) => {
    const names = pods.map(({ pod }) => pod).sort()
    return `${rule} ${names.join(', ')}`
  })
}

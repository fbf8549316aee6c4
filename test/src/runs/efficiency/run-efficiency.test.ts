import { readFileSync } from 'node:fs'
import t from 'tap'
import { listFactors } from '../../../../src/runs/efficiency/factor.ts'
import { runEfficiency } from '../../../../src/runs/efficiency/run-efficiency.ts'
import { groupByPod } from '../../../../src/runs/evidence/run-evidence.ts'
import type { Sample } from '../../../../src/runs/log/columns.ts'
import { readLog } from '../../../../src/runs/log/read.ts'
import { reportModel } from '../../../../src/runs/report/data.ts'
import { addEntry, newRun } from '../../../../src/runs/report/gather.ts'
import { DESCRIPTIONS, evidenceOf, podOf, podRows } from '../findings/rows.ts'
import { BUILT_IN_ROWS } from '../log/built-in.ts'
import {
  type Recorded,
  recordedLogs,
  runOf,
  type TracedProcess,
} from '../metrics/mpi-trace/mpi-rows.ts'
import { documentOf } from '../report/document-of.ts'

/** Reads recorded logs, whose names are POD.METRIC.log or those of `recordedLogs`. */
function read(folder: string, names: readonly string[]) {
  const run = newRun(BUILT_IN_ROWS)
  for (const name of names) {
    const text = readFileSync(new URL(`../../../logs/${folder}/${name}`, import.meta.url), 'utf8')
    const pod = name.replace(/\..*/, '')
    const place = { source: `hpc/${name}`, namespace: 'hpc', pod, pod_index: pod }
    for (const entry of readLog(text, place, BUILT_IN_ROWS)) addEntry(run, entry)
  }
  return run
}

const together = (...metrics: readonly string[]) =>
  read(
    'all-metrics',
    ['lammps-0', 'lammps-1'].flatMap((pod) => metrics.map((metric) => `${pod}.${metric}.log`)),
  )

const efficiencyOf = (run: ReturnType<typeof newRun>) => reportModel(run, 'auto').efficiency

/** Returns the known factors by name. */
const valuesOf = (run: ReturnType<typeof newRun>) =>
  Object.fromEntries(
    listFactors(efficiencyOf(run).root).flatMap(({ name, value }) =>
      value === null ? [] : [[name, Number(value.toFixed(3))]],
    ),
  )

const missingIn = (run: ReturnType<typeof newRun>) =>
  listFactors(efficiencyOf(run).root).flatMap(({ name, missing }) =>
    missing === null ? [] : `${name}: ${missing}`,
  )

const RECORDED: readonly (readonly [Recorded, number, number, number])[] = [
  ['balanced', 0.99, 0.913, 0.904],
  ['imbalanced', 0.745, 0.96, 0.715],
  ['collective', 0.421, 0.909, 0.382],
  ['even', 0.978, 0.561, 0.549],
]

for (const [kind, balance, both, efficiency] of RECORDED) {
  t.test(`the factors of the recorded run ${kind}`, async (t) => {
    const run = read('mpi', recordedLogs(kind))
    t.match(valuesOf(run), {
      'load-balance': balance,
      'communication-and-platform': both,
      efficiency,
    })
    const names = missingIn(run).map((text) => text.split(':')[0])
    const unknown = ['communication', 'platform', 'storage', 'activity']
    t.strictSame(names, unknown, 'the rows have no run_delay, and no time asleep')
  })
}

t.test('pods on a crowded node: vitals, pressure and perf-sysstat agree', async (t) => {
  const [vitals, pressure, perf, all] = [
    ['mpi-trace', 'vitals'],
    ['mpi-trace', 'pressure'],
    ['mpi-trace', 'perf-sysstat'],
    ['mpi-trace', 'vitals', 'pressure', 'perf-sysstat', 'network'],
  ].map((metrics) => valuesOf(together(...metrics)))
  for (const [name, value] of Object.entries(vitals ?? {}))
    for (const other of [pressure, perf, all])
      t.ok(Math.abs(Number(other?.[name]) - value) < 0.02, `${name}: ${value}, ${other?.[name]}`)
  // Both ranks ran for 0.17 of the time, and waited for a processor for 0.8 of it.
  t.ok(Math.abs((vitals?.platform ?? 0) - 0.17) < 0.02)
})

const well = (...metrics: readonly string[]) =>
  read(
    'well',
    metrics.map((metric) => `lammps.${metric}.log`),
  )

t.test('nothing held up a run with even work and a processor for each rank', async (t) => {
  const { verdict, findings } = documentOf(well('mpi-trace', 'vitals'), '')
  t.equal(
    verdict,
    'Took 20.1 s on 2 MPI ranks in 1 pod. Nothing that mpi-trace and vitals see (MPI, ' +
      'processors, memory, network traffic) held this run up: 90 % of the time was spent ' +
      'computing. Not looked at: storage, GPUs and Python, if the program uses them.',
  )
  t.strictSame(findings, [])
})

t.test('mpi-trace alone knows how long the ranks waited for processors', async (t) => {
  const [alone, together] = [valuesOf(well('mpi-trace')), valuesOf(well('mpi-trace', 'vitals'))]
  t.strictSame(alone, together)
  t.match(alone, { 'load-balance': 0.996, communication: 0.961, platform: 0.945 })
  t.match(missingIn(well('mpi-trace')), [/^storage: waits for storage were not measured /])
})

t.test('the CPU time before MPI_Init is no work after it', async (t) => {
  const traced = (rank: number) => ({
    mpi: {
      ...{ mpi_rank: rank, mpi_size: 2, job: 'a', mpi_seconds: 0.1 },
      ...{ wait_outside: 0, wait_in_mpi: 0, asleep_outside: 0.7 },
    },
    open: { mpi_rank: rank, cpu_time: 0.2 },
  })
  const rows = podRows('0', traced(0), { only: ['mpi', 'open'], others: [traced(1)] })
  const isOpen = ({ section }: Sample) => section === 'open'
  const [open, others] = [rows.filter(isOpen), rows.filter((row) => !isOpen(row))]
  for (const [before, first] of [
    [0, 0],
    [50, 0],
    [50, 40],
  ] as const) {
    const run = newRun(DESCRIPTIONS)
    for (const row of others) addEntry(run, row)
    for (const row of open.filter(({ seconds }) => seconds >= first))
      addEntry(run, { ...row, cpu_time: Number(row.cpu_time) + before })
    const { elapsed, processes } = efficiencyOf(run)
    t.equal(elapsed, 120)
    for (const { split } of processes) t.match(split, { idle: 84, computing: 24 })
  }
})

t.test('without mpi-trace, the processors are the basis', async (t) => {
  const run = together('vitals')
  const { basis, pods, processes } = efficiencyOf(run)
  t.strictSame([basis, pods.length, processes.length], ['processors', 2, 0])
  t.match(valuesOf(run), { platform: 0.164, activity: 0.907, efficiency: 0.148 })
  t.match(missingIn(run), [/^storage: waits for storage were not measured /])
  for (const { shares } of pods) {
    const sum = Number(shares?.computing) + Number(shares?.waiting) + Number(shares?.idle)
    t.ok(Math.abs(sum - 1) < 1e-9, 'the parts of the time of a pod')
  }
})

t.test('where a process may have waited or not have run, the efficiency is a limit', async (t) => {
  const leastOf = (libraries: string | null, ...others: readonly number[]) => {
    const process = (cpu: number) => ({
      process: { run_delay: 0, cpu_time: cpu },
      placement: { libraries },
    })
    const options = { only: ['process', 'placement'], others: others.map(process) } as const
    const evidence = evidenceOf(podRows('0', process(0.5), options))
    return runEfficiency(groupByPod(evidence, podOf), false).root.least
  }
  t.equal(leastOf('none'), null)
  t.equal(leastOf('python'), null, 'Python sleeps where it waits')
  t.equal(leastOf('none', 0.005), null, 'a launcher')
  t.equal(leastOf('none', 0.02), 0, 'another process')
  t.equal(leastOf('mpi'), 0)
  t.equal(leastOf(null), 0, 'it is not known whether the process uses MPI')
})

t.test('a metric without CPU time: the efficiency is missing, with the reason', async (t) => {
  t.match(missingIn(together('network')), [/^efficiency: the CPU time .* was not read/])
})

t.test('a rank without rows of MPI: the efficiency is missing, with the count', async (t) => {
  const run = read('all-metrics', ['lammps-0.mpi-trace.log', 'lammps-0.vitals.log'])
  t.match(missingIn(run), [/^efficiency: mpi-trace has rows of only 1 of the 2 processes/])
  t.equal(efficiencyOf(run).size, 2)
})

t.test('some ranks without rows of MPI: the efficiency is that of the others', async (t) => {
  const logsOf = (...pods: readonly string[]) => pods.map((pod) => `mpi-trace-even-${pod}.log`)
  const [half, whole] = [read('mpi', logsOf('0')), read('mpi', logsOf('0', '1'))]
  const { root, size, processes } = efficiencyOf(half)
  t.strictSame([size, processes.length, root.missing], [4, 2, null])
  const all = efficiencyOf(whole)
  t.equal(all.processes.length, 4)
  // The ranks have equal parts of the work.
  t.ok(Math.abs((root.value ?? 0) - (all.root.value ?? 1)) < 0.05)
})

t.test('a rank whose waiting was not counted: platform is missing, with the count', async (t) => {
  const names = ['lammps-0.mpi-trace.log', 'lammps-1.mpi-trace.log', 'lammps-1.vitals.log']
  const missing = missingIn(read('all-metrics', names))
  t.match(missing, [/^communication: .* only 1 of the 2 processes/, /^platform: /])
})

const missingOf = (...processes: readonly TracedProcess[]) => missingIn(runOf(processes))

t.test('processes of MPI that cannot be compared have no efficiency', async (t) => {
  const process = (rank: number, changes: object = {}) => ({
    rank,
    size: 2,
    seconds: 10,
    ...changes,
  })
  t.match(missingOf(process(0), process(1, { seconds: 101 })), [
    /several threads were in MPI at once/,
  ])
  const stale = { state: 'running', elapsed: 50 }
  t.match(missingOf(process(0), process(1, stale)), [
    /the calls of MPI rank 1 were recorded for only 50 s of the 100 s/,
  ])
  t.notMatch(missingOf(process(0), process(1, { ...stale, state: 'exited' })), [/efficiency/])
  t.match(missingOf(process(0, { seconds: 100 }), process(1, { seconds: 100 })), [/outside of MPI/])
})

t.test('of several jobs, the one with the most time counts', async (t) => {
  const process = (rank: number, job: string, elapsed: number) => {
    return { rank, size: 2, job, elapsed, seconds: 1, pid: elapsed, pod: `${rank}` }
  }
  const run = runOf([
    process(0, 'a', 10),
    process(1, 'a', 10),
    process(0, 'b', 90),
    process(1, 'b', 90),
  ])
  t.match(efficiencyOf(run), { job: 'b', otherJobs: 1, elapsed: 90 })
})

t.test('the JSON has the sentence, the factors, and the times of the processes', async (t) => {
  const { verdict, efficiency } = documentOf(together('mpi-trace', 'vitals'), '')
  t.match(verdict, /^Took 34.1 s on 2 MPI ranks in 2 pods\. Efficiency 0\.10: /)
  t.match(efficiency, { basis: 'mpi', size: 2, otherJobs: 0, omitted: 0, pods: [] })
  t.match(efficiency.factors, [
    { name: 'efficiency', of: null, title: 'Efficiency', missing: null },
    { name: 'load-balance', of: 'efficiency' },
    { name: 'balance-between-pods', of: 'load-balance' },
    { name: 'balance-within-pods', of: 'load-balance' },
    { name: 'communication-and-platform', of: 'efficiency' },
    { name: 'communication', of: 'communication-and-platform' },
    { name: 'platform', of: 'communication-and-platform', least: Number },
    { name: 'storage', of: 'efficiency' },
    { name: 'activity', of: 'efficiency' },
  ])
  const [process] = efficiency.processes
  t.match(process, {
    podIndex: 'lammps-0',
    mpiRank: 0,
    elapsedSeconds: 26.3737,
    mpiSeconds: 9.76221,
  })
  t.match(Object.keys(process ?? {}).slice(3), [
    'computingSeconds',
    'storageSeconds',
    'idleSeconds',
    'mpiSeconds',
    'waitingSeconds',
    'waitingInMpiSeconds',
  ])
  const { efficiency: processors } = documentOf(together('vitals'), '')
  t.match(processors.pods[0], {
    podIndex: 'lammps-0',
    cores: 0.139948,
    coresLimit: null,
    idle: Number,
  })
})

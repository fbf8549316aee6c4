import { readFileSync } from 'node:fs'
import t from 'tap'
import { readLog } from '../../../../../src/runs/log/read.ts'
import { pageData, reportModel } from '../../../../../src/runs/report/data.ts'
import { STATES, type State } from '../../../../../src/runs/report/first-screen/activity-data.ts'
import { addEntry, newRun } from '../../../../../src/runs/report/gather.ts'
import { DESCRIPTIONS, podRows } from '../../findings/rows.ts'
import { BUILT_IN_ROWS } from '../../log/built-in.ts'

/** Returns what the pods of recorded logs did over time. */
function activityOf(...names: readonly string[]) {
  const run = newRun(BUILT_IN_ROWS)
  for (const name of names) {
    const text = readFileSync(new URL(`../../../../logs/${name}.log`, import.meta.url), 'utf8')
    for (const entry of readLog(text, { source: name }, BUILT_IN_ROWS)) addEntry(run, entry)
  }
  return pageData(run, 'auto').activity
}

/** Returns the mean percent of a state of each line. */
const meansOf = ({ lines }: ReturnType<typeof activityOf>, state: State) =>
  lines.map(({ percents }) => {
    const known = (percents[STATES.indexOf(state)] ?? []).filter((percent) => percent !== null)
    return known.reduce((sum, percent) => sum + percent, 0) / known.length
  })

t.test('a throttled pod waits for a processor', async (t) => {
  for (const names of [['pressure'], ['perf-sysstat'], ['pressure', 'perf-sysstat']]) {
    const activity = activityOf(...names.map((name) => `findings/${name}-throttled`))
    t.equal(activity.basis, 'processors')
    const [[waiting = 0], [computing = 0]] = [
      meansOf(activity, 'waiting'),
      meansOf(activity, 'computing'),
    ]
    t.ok(waiting > 70 && waiting < 90, `${names} waiting ${waiting} %`)
    t.ok(computing > 10 && computing < 30, `${names} computing ${computing} %`)
  }
})

t.test('a pod that waits for storage is not idle', async (t) => {
  const activity = activityOf('findings/pressure-storage', 'findings/perf-sysstat-storage')
  const [stored = 0] = meansOf(activity, 'storage')
  t.ok(stored > 5, `waiting for storage ${stored} %`)
})

t.test('the processes of MPI have the time in MPI of the efficiency', async (t) => {
  const names = ['0', '1'].map((pod) => `mpi/mpi-trace-imbalanced-${pod}`)
  const activity = activityOf(...names)
  t.equal(activity.basis, 'mpi')
  t.strictSame(
    activity.lines.map(({ name }) => name),
    ['MPI rank 0', 'MPI rank 1'],
  )
  // The logs: 4.07 and 0.311 of 7.69 seconds.
  const [first = 0, second = 0] = meansOf(activity, 'mpi')
  t.ok(Math.abs(first - 53) < 5, `${first} %`)
  t.ok(Math.abs(second - 4) < 3, `${second} %`)
  const waiting = activity.lines.flatMap(
    ({ percents }) => percents[STATES.indexOf('waiting')] ?? [],
  )
  t.ok(waiting.length > 0 && waiting.every((percent) => percent === null), 'it is not known')
})

t.test(
  'waiting that mpi-trace counted is that of the efficiency, also without vitals',
  async (t) => {
    for (const names of [['mpi-trace'], ['mpi-trace', 'vitals']]) {
      const activity = activityOf(...names.map((metric) => `well/lammps.${metric}`))
      // 20 s on two pods with a processor each: load balance 1, communication 0.96, platform 0.94.
      for (const [state, expected] of [
        ['computing', 90],
        ['waiting', 1],
        ['mpi', 9],
      ] as const)
        for (const mean of meansOf(activity, state))
          t.ok(Math.abs(mean - expected) < 5, `${names} ${state}: ${mean} %`)
    }
  },
)

t.test('with vitals, the waiting for a processor is separated from MPI', async (t) => {
  const names = ['0', '1'].flatMap((pod) =>
    ['mpi-trace', 'vitals'].map((metric) => `all-metrics/lammps-${pod}.${metric}`),
  )
  const activity = activityOf(...names)
  for (const waiting of meansOf(activity, 'waiting')) t.ok(waiting > 60, `waiting ${waiting} %`)
  for (const { percents } of activity.lines)
    for (const bucket of percents[0]?.keys() ?? []) {
      const sum = percents.reduce((all, own) => all + (own[bucket] ?? 0), 0)
      const isKnown = percents.some((own) => own[bucket] !== null)
      t.ok(!isKnown || Math.abs(sum - 100) <= 2, `the states are all of the time: ${sum} %`)
    }
})

t.test('the waiting of a process for storage is not 0 if it was not read', async (t) => {
  const names = ['mpi-trace', 'vitals'].map((metric) => `verdict/healthy/healthy-0.${metric}`)
  const { lines } = activityOf(...names)
  const state = STATES.indexOf('storage')
  for (const { percents, means } of lines)
    t.strictSame([means[state], ...new Set(percents[state])], [null, null])
})

t.test('a process of MPI waits for storage as in the efficiency', async (t) => {
  const run = newRun(DESCRIPTIONS)
  const traced = { mpi_size: 2, job: 'a', wait_outside: 0, wait_in_mpi: 0, asleep_outside: 0.7 }
  const used = { percent_cpu: 10, percent_wait: 0 }
  const rows = podRows(
    '0',
    {
      container: { io_full: 0.5 },
      mpi: { ...traced, mpi_rank: 0 },
      perf: { ...used, iodelay: 200 },
    },
    {
      only: ['container', 'mpi', 'perf'],
      others: [{ mpi: { ...traced, mpi_rank: 1 }, perf: { ...used, iodelay: null } }],
    },
  )
  for (const row of rows) addEntry(run, row)
  const { page, efficiency } = reportModel(run, 'auto')
  const shares = efficiency.processes.map(({ split, elapsed }) => (split.storage ?? 0) / elapsed)
  t.ok(Math.abs((shares[0] ?? 0) - 0.2) < 0.01, `its own block I/O delay: ${shares[0]}`)
  t.ok(Math.abs((shares[1] ?? 0) - 0.5) < 0.01, `the stalls of its container: ${shares[1]}`)
  const percents = meansOf(page.activity, 'storage')
  t.strictSame(percents.map(Math.round), [20, 50])
})

t.test('containers and processes that wait together are not added', async (t) => {
  const half = { io_full: 0.5 }
  const used = { percent_cpu: 10, percent_wait: 0 }
  const waits = { ...used, iodelay: 300 }
  const quiet = { cpu_time: 0.1, run_delay: 0 }
  const app = podRows('0', { container: half, process: quiet }, { only: ['container', 'process'] })
  const second = podRows('0', { container: { io_full: 0.3 } }, { only: ['container'] })
  const sidecar = second.map((row) => ({ ...row, container: 'sidecar' }))
  const processes = podRows(
    '0',
    { perf: waits },
    { only: ['perf'], others: [{ perf: waits }, { perf: used }] },
  )
  for (const [rows, expected] of [
    [[...app, ...sidecar], 50],
    [processes, 30],
  ] as const) {
    const run = newRun(DESCRIPTIONS)
    for (const row of rows) addEntry(run, row)
    const { page, efficiency } = reportModel(run, 'auto')
    const [pod] = efficiency.pods
    t.equal(Math.round(100 * (pod?.shares?.storage ?? 0)), expected, 'the efficiency')
    t.strictSame(meansOf(page.activity, 'storage').map(Math.round), [expected], 'the activity')
  }
})

/** A run of pods that compute for 90 % of 120 s, and of one that does for 10 % of 10 s. */
function runOfPods(count: number) {
  const run = newRun(DESCRIPTIONS)
  const rows = Array.from({ length: count }, (_, pod) => {
    const used = { cpu_time: pod === 1 ? 0.1 : 0.9, run_delay: 0 }
    const own = podRows(`${pod}`, { process: used }, { only: ['process'] })
    return pod === 1 ? own.filter(({ seconds }) => seconds <= 10) : own
  })
  for (const row of rows.flat()) addEntry(run, row)
  return run
}

for (const count of [2, 70])
  t.test(`the key of ${count} pods with different times has the efficiency`, async (t) => {
    const { page, efficiency } = reportModel(runOfPods(count), 'auto')
    t.equal(efficiency.basis, 'processors')
    const [computing] = page.activity.means
    const expected = 100 * (efficiency.root.value ?? 0)
    t.ok(Math.abs((computing ?? 0) - expected) < 0.01, `${computing} %, ${expected} %`)
  })

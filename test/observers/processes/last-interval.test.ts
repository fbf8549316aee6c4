import t from 'tap'
import { until as untilTrue } from '../../until.ts'
import { observer, podOf, type Running, until } from '../pod.ts'
import { observerTests, summaryOf } from '../prerequisites.ts'
import { makeCgroup, withCgroups } from '../pressure/cgroup.ts'
import { compiled } from './compiled.ts'

// Tests with processes that end between two scans. No process of the pod waits for the first
// process of a container, so no other counter includes its use since the last scan.

const options = { ...observerTests(), timeout: 800_000 }
const ENDING = {
  RIDEALONG_TARGET_CONTAINER: 'app',
  RIDEALONG_MODE: 'container',
  RIDEALONG_RESTART_POLICY: 'Never',
}
/** The processor time that may be missing: that of the time between two readings. */
const MISSING = 0.2
const MAX_RUNS = 8

for (const metric of ['perf-sysstat', 'pressure'] as const) {
  t.test(`${metric} sums a job of one process that ends between scans`, options, async (t) => {
    const [burns] = compiled(t, 'burns')
    let missing = Number.POSITIVE_INFINITY
    // A busy machine can stop the observer at the end of the process, so there are several runs.
    for (let run = 1; run <= MAX_RUNS && missing > MISSING; run += 1) {
      const pod = await podOf(t)
      const watching = await pod.run(metric, [observer(metric)], ENDING)
      const app = await pod.run('app', [burns, '2', '2'])
      t.equal(await app.ended, 0)
      t.equal(await watching.ended, 0)
      const truth = JSON.parse(app.log())
      const seen = summaryOf(watching.log()).find(({ program }) => program === 'burns') ?? {}
      missing = truth.cpu - Number(seen.cpu_seconds)
      t.comment(`run ${run}: ${missing} of ${truth.cpu} s are missing`)
      t.ok(missing >= -0.05, `run ${run}: at most the processor time of the process`)
    }
    t.ok(missing <= MISSING, `${missing} s are missing`)
  })
}

t.test('processes that end together in one interval are summed once', options, async (t) => {
  const [burns] = compiled(t, 'burns')
  const { run } = await podOf(t)
  const rate = { RIDEALONG_OPTION_RATE: '2' }
  const watching = await run('perf-sysstat', [observer('perf-sysstat')], { ...ENDING, ...rate })
  // The other shell has waited for the program that scans have found. After the next scan, that
  // shell ends, and then the first process of the container, which has waited for it.
  const inner = `${burns} 3 1; echo waits; read -r go </dev/shm/go; true`
  const app = await run('app', [
    'sh',
    '-c',
    `mkfifo /dev/shm/go; sh -c '${inner}'; sleep 0.5; true`,
  ])
  await until(app, /waits/)
  const before = timepointsOf(watching)
  await untilTrue('a scan finds the shell', () => timepointsOf(watching) > before)
  await run('other', ['sh', '-c', 'echo >/dev/shm/go'])
  t.equal(await app.ended, 0)
  t.equal(await watching.ended, 0)
  const truth = JSON.parse(app.log().split('\n')[0] ?? '').cpu
  const [whole] = summaryOf(watching.log())
  const sum = Number(whole?.cpu_seconds) + Number(whole?.unaccounted_cpu_seconds)
  t.ok(Math.abs(sum - truth) <= MISSING, `${sum} of ${truth} s`)
})

const timepointsOf = (watching: Running) =>
  watching.log().split('METRICS OPERATOR TIMEPOINT').length

t.test(
  'with target-command, each process without an observed parent is summed',
  options,
  async (t) => {
    const [burns] = compiled(t, 'burns')
    let missing = Number.POSITIVE_INFINITY
    for (let number = 1; number <= MAX_RUNS && missing > MISSING; number += 1) {
      const { run } = await podOf(t)
      const watching = await run('perf-sysstat', [observer('perf-sysstat')], {
        ...ENDING,
        RIDEALONG_TARGET_COMMAND: '^burns$',
      })
      const loop = `for i in 1 2 3 4; do ${burns} 1.5 1; done; exit 0`
      const app = await run('app', ['sh', '-c', loop])
      t.equal(await app.ended, 0)
      t.equal(await watching.ended, 0)
      const lines = app.log().trim().split('\n')
      const truth = lines.reduce((sum, line) => sum + JSON.parse(line).cpu, 0)
      const [whole] = summaryOf(watching.log())
      // A scan finds a process only some seconds after its start, or never.
      t.ok(Number(whole?.cpu_seconds) <= truth + 0.1, `${whole?.cpu_seconds} of ${truth} s`)
      const found = Number(whole?.processes)
      if (found > 0) missing = truth / 4 - Number(whole?.cpu_seconds) / found
    }
    t.ok(missing <= MISSING, `${missing} s of each process that a scan has found are missing`)
  },
)

t.test(
  'the processor time that only the cgroup of the container has is unaccounted',
  withCgroups(options, 'cpuacct', 'unified'),
  async (t) => {
    const [burns] = compiled(t, 'burns')
    for (const hierarchy of ['cpuacct', 'unified'] as const) {
      const cgroup = makeCgroup(t, hierarchy)
      const { run } = await podOf(t)
      // No process of the container waits for these processes, and few scans find one.
      const orphans = `for i in 1 2 3 4; do (setsid ${burns} 0.4 1 &); sleep 1; done`
      const script = `${cgroup.enter}; echo ready; read -r go </dev/shm/go; ${orphans}; sleep 1`
      const app = await run('app', ['sh', '-c', `mkfifo /dev/shm/go; ${script}`])
      await until(app, /ready/)
      const watching = await run('perf-sysstat', [observer('perf-sysstat')], ENDING)
      await until(watching, /COLLECTION START/)
      await run('other', ['sh', '-c', 'echo >/dev/shm/go'])
      t.equal(await app.ended, 0)
      t.equal(await watching.ended, 0)
      const truth =
        hierarchy === 'cpuacct'
          ? Number(cgroup.read('cpuacct.usage')) / 1e9
          : cgroup.readKey('cpu.stat', 'usage_usec') / 1e6
      const [whole] = summaryOf(watching.log())
      const unaccounted = Number(whole?.unaccounted_cpu_seconds)
      const found = Number(whole?.cpu_seconds) + unaccounted
      t.ok(unaccounted >= 0.4, `${hierarchy}: ${unaccounted} s are unaccounted`)
      t.ok(Math.abs(truth - found) <= 0.2, `${hierarchy}: ${found} of ${truth} s`)
    }
  },
)

import { readFileSync } from 'node:fs'
import t from 'tap'
import { mismatchesIn, noticesOf, rowsOf } from '../json-rows.ts'
import { observer, podOf, until } from '../pod.ts'
import { observerTests, summaryOf } from '../prerequisites.ts'
import { makeCgroup, withCgroups } from './cgroup.ts'

const options = observerTests()
const NATIVE = { RIDEALONG_TARGET_CONTAINER: 'app', RIDEALONG_OPTION_RATE: '0.3' }
const CONTAINER = { ...NATIVE, RIDEALONG_MODE: 'container', RIDEALONG_RESTART_POLICY: 'Never' }

/**
 * The settings of NATIVE, with a target-command that matches only `sleep`, and not the shell that
 * starts the imitation of a container.
 */
const SLEEP = { ...NATIVE, RIDEALONG_TARGET_COMMAND: '^sleep$' }

const SECTIONS = {
  container: [
    ...'container nr_periods nr_throttled throttled cpu_usage cpu_limit'.split(' '),
    ...'cpu_some cpu_full memory_some memory_full io_some io_full'.split(' '),
    ...'memory_current memory_anon memory_peak memory_limit memory_high'.split(' '),
    ...'memory_max oom oom_kill'.split(' '),
    ...'pids_current pids_limit unlimited'.split(' '),
  ],
  process: 'pid run_delay cpu_time majflt cpu container program'.split(' '),
  placement: [
    ...'pid cpus_allowed cpus_allowed_count migrations pss swap_pss numa numa_remote'.split(' '),
    ...'libraries container program'.split(' '),
  ],
}

t.test(
  'the log has rows of the container, its processes and the placement of the processes',
  options,
  async (t) => {
    const { run } = await podOf(t)
    await run('other', ['sleep', '60'])
    await run('perf-sysstat', [observer('perf-sysstat')], NATIVE)
    // An observer that starts first could take its timepoints before both programs have started.
    const loop = 'while :; do :; done'
    const app = await run('app', ['sh', '-c', `sh -c 'echo started; exec sleep 60' & ${loop}`])
    await until(app, /started/)
    const watching = await run('pressure', [observer('pressure')], {
      ...CONTAINER,
      RIDEALONG_OPTION_COMPLETIONS: '3',
      POD_NAME: 'lammps-0',
    })
    t.equal(await watching.ended, 0)
    for (const [section, columns] of Object.entries(SECTIONS)) {
      for (const row of rowsOf(watching, section)) {
        const expected = ['time', 'section', ...columns]
        t.strictSame(Object.keys(row), expected, `the columns of the section ${section}`)
        t.equal(row.container, 'app')
        t.match(row.time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
      }
    }
    t.strictSame(mismatchesIn(watching, 'pressure'), [])
    t.equal(rowsOf(watching, 'container').length, 3, 'the container has a row at each timepoint')
    const processes = rowsOf(watching, 'process')
    const times = new Set(processes.map(({ time }) => time))
    t.equal(times.size, 3, 'completions is the number of timepoints')
    t.strictSame([...new Set(processes.map(({ program }) => program))].sort(), ['sh', 'sleep'])
    t.ok(processes.every((row) => Number(row.run_delay) >= 0 && Number(row.cpu_time) >= 0))
    const placements = rowsOf(watching, 'placement')
    t.equal(new Set(placements.map(({ pid }) => pid)).size, 2, 'each process has a placement')
    const allowed = readFileSync('/proc/self/status', 'utf8').match(/^Cpus_allowed_list:\s*(\S+)$/m)
    t.ok(placements.every((row) => row.cpus_allowed === allowed?.[1]))
    const [whole, container, ...programs] = summaryOf(watching.log())
    t.match(whole, { metric: 'pressure', pod: 'lammps-0', timepoints: 3, processes: 2 })
    t.strictSame(Object.keys(container ?? {}), SECTIONS.container)
    t.strictSame(programs.map(({ program }) => program).sort(), ['sh', 'sleep'])
  },
)

t.test('with a target-command, each container with a match has rows', options, async (t) => {
  const { run } = await podOf(t)
  const watching = await run('pressure', [observer('pressure')], SLEEP)
  await run('app', ['sh', '-c', 'sleep 60 & wait'])
  await run('worker', ['sleep', '60'])
  await until(watching, /"program":"sleep"[\s\S]*"container":"worker"/)
  await until(watching, () => {
    const found = new Set(rowsOf(watching, 'container').map(({ container }) => container))
    return found.has('app') && found.has('worker')
  })
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
  t.ok(rowsOf(watching, 'process').every(({ program }) => program === 'sleep'))
})

t.test('a value that cannot be read is null, and one notice says why', options, async (t) => {
  const { run } = await podOf(t)
  const user = { user: 65_532, group: 65_532 }
  const watching = await run('pressure', [observer('pressure')], SLEEP, user)
  await run('app', ['sleep', '60'])
  await until(watching, () => rowsOf(watching, 'container').length >= 3)
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
  const last = rowsOf(watching, 'container').at(-1) ?? {}
  for (const column of SECTIONS.container.slice(1)) t.equal(last[column], null, `${column} is null`)
  t.match(rowsOf(watching, 'placement'), [{ pss: null, numa: null, libraries: null }])
  t.type(rowsOf(watching, 'placement')[0]?.cpus_allowed, 'string')
  t.type(rowsOf(watching, 'process').at(-1)?.run_delay, 'number')
  const notices = noticesOf(watching)
  t.ok(notices.includes('the cgroups of container app cannot be read: Permission denied'))
  t.ok(notices.includes('smaps_rollup of a process cannot be read: Permission denied'))
  t.equal(new Set(notices).size, notices.length)
})

t.test(
  'root with SETUID and SETGID reads the values of a process of another user',
  options,
  async (t) => {
    const { run } = await podOf(t)
    const root = { keeps: ['setuid', 'setgid'] }
    const watching = await run('pressure', [observer('pressure')], SLEEP, root)
    await run('app', ['sleep', '60'], {}, { user: 1234, group: 5678 })
    await until(watching, () => {
      const placement = rowsOf(watching, 'placement').find(({ pss }) => pss !== null)
      return placement !== undefined && rowsOf(watching, 'container').length >= 2
    })
    watching.signal('SIGTERM')
    t.equal(await watching.ended, 0)
    t.notMatch(noticesOf(watching).join('\n'), /Permission denied/)
  },
)

t.test(
  'the memory limit, the peak and a kill in a cgroup of version 1 are reported',
  withCgroups(options, 'memory'),
  async (t) => {
    const limit = 64 << 20
    const cgroup = makeCgroup(t, 'memory', { 'memory.limit_in_bytes': String(limit) })
    const { run } = await podOf(t)
    const watching = await run('pressure', [observer('pressure')], NATIVE)
    const grow = `python3 -c 'bytearray(200 << 20)'`
    const app = await run('app', ['sh', '-c', `${cgroup.enter}; ${grow}; echo killed; sleep 60`])
    await until(app, /killed/)
    const before = rowsOf(watching, 'container').length
    await until(watching, () => rowsOf(watching, 'container').length >= before + 2)
    watching.signal('SIGTERM')
    t.equal(await watching.ended, 0)
    const last = rowsOf(watching, 'container').at(-1)
    t.match(last, { memory_limit: limit, oom_kill: 1, unlimited: 'none' })
    t.equal(last?.memory_peak, Number(cgroup.read('memory.max_usage_in_bytes')))
    t.equal(last?.memory_max, Number(cgroup.read('memory.failcnt')))
    t.ok(Number(last?.memory_current) < limit)
    t.ok(Number(last?.memory_anon) <= Number(last?.memory_current))
    t.match(last, { oom: null, memory_high: null })
    // In all hierarchies except memory, the container is in the root.
    t.match(last, { cpu_usage: null, cpu_some: null, pids_current: null })
    t.match(noticesOf(watching).join('\n'), /cpu controller: its cgroup is the root/)
    const missing = 'memory events high and oom, which only version 2 of cgroups has'
    t.ok(noticesOf(watching).includes(`container app has no ${missing}`))
  },
)

/** Uses this many MiB of memory. */
const USE =
  "import sys, time; kept = bytearray(int(sys.argv[1]) << 20); print('ready'); time.sleep(600)"

t.test(
  'the memory of a process is not walked if the CPU limit of the observer is too low for it',
  withCgroups(options, 'cpu'),
  async (t) => {
    // 10 ms in 100 ms, as in the catalog.
    const cgroup = makeCgroup(t, 'cpu', { 'cpu.cfs_quota_us': '10000' })
    const { run } = await podOf(t)
    const apps = [await run('app', ['python3', '-uc', USE, '500'])]
    apps.push(await run('app', ['python3', '-uc', USE, '100']))
    for (const app of apps) await until(app, /ready/)
    const isolate = `${cgroup.enter}; mount --bind $PLACE /sys/fs/cgroup/cpu; exec "$0"`
    const watching = await run('pressure', ['sh', '-c', isolate, observer('pressure')], {
      ...NATIVE,
      PLACE: cgroup.path,
    })
    await until(watching, () => rowsOf(watching, 'placement').length >= 2)
    watching.signal('SIGTERM')
    t.equal(await watching.ended, 0)
    const [large, small] = rowsOf(watching, 'placement')
    t.match(large, { pss: null, swap_pss: null, numa: null, numa_remote: null, cpus_allowed: /./ })
    t.equal(large?.libraries, 'python', 'for the libraries, no memory is walked')
    t.type(small?.pss, 'number')
    t.type(small?.numa, 'string')
    const columns = 'pss, swap_pss, numa and numa_remote'
    t.ok(
      noticesOf(watching).includes(
        `${columns} of a process with more than 320 MiB are null: reading them takes too long`,
      ),
    )
  },
)

t.test(
  'a container is read through another process if the first one has no cgroups mounted',
  withCgroups(options, 'memory'),
  async (t) => {
    const limit = 64 << 20
    const cgroup = makeCgroup(t, 'memory', { 'memory.limit_in_bytes': String(limit) })
    const { run } = await podOf(t)
    // The launcher keeps the mounts, and is not observed.
    const hide = 'umount -l -R /sys/fs/cgroup; exec sleep 600'
    const launch = `${cgroup.enter}; unshare --mount sh -c '${hide}' & wait`
    await run('app', ['sh', '-c', launch])
    const watching = await run('pressure', [observer('pressure')], SLEEP)
    await until(watching, () => rowsOf(watching, 'container').length >= 3)
    watching.signal('SIGTERM')
    t.equal(await watching.ended, 0)
    const values = { memory_limit: limit, unlimited: 'none' }
    for (const row of rowsOf(watching, 'container').slice(1)) t.match(row, values)
    t.notMatch(noticesOf(watching).join('\n'), /memory controller/)
    t.match(summaryOf(watching.log())[1], values)
  },
)

import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { until as untilTrue } from '../../until.ts'
import { noticesOf, rowsOf } from '../json-rows.ts'
import { childrenOf, observer, podOf, type Running, until } from '../pod.ts'
import { observerTests, onPath, type Row } from '../prerequisites.ts'
import { makeCgroup, withCgroups } from './cgroup.ts'

// Compares the rows of the observer with the kernel's counters. A load sleeps or is stopped when a
// counter is read, so that the row and the counter have the same value, even on a busy machine.

const RATE = 0.5
const ENV = { RIDEALONG_TARGET_CONTAINER: 'app', RIDEALONG_OPTION_RATE: String(RATE) }
const options = { ...observerTests(), timeout: 800_000 }
const SPIN = 'while :; do :; done'
const PATIENT = { patienceMs: 600_000, pauseMs: 200 }

/** Waits until a section has two more rows, and returns the last row. */
async function nextRow(watching: Running, section: string): Promise<Row> {
  const before = rowsOf(watching, section).length
  await until(watching, () => rowsOf(watching, section).length >= before + 2)
  return rowsOf(watching, section).at(-1) ?? {}
}

function isNear(t: Test, found: unknown, expected: number, part: number, what: string): void {
  const difference = Math.abs(Number(found) - expected)
  t.ok(difference <= part * expected, `${what} is ${found}, expected: ${expected}`)
}

for (const [title, isolate] of [
  ['if the container sees all cgroups', ''],
  ['if the container sees only its own cgroup', 'mount --bind $PLACE /sys/fs/cgroup/cpu;'],
] as const) {
  t.test(`the throttled time is correct ${title}`, withCgroups(options, 'cpu'), async (t) => {
    // The quota is shorter than a time slice, so that the loop is throttled even on a busy machine.
    const cgroup = makeCgroup(t, 'cpu', { 'cpu.cfs_quota_us': '2000' })
    const { run } = await podOf(t)
    const watching = await run('pressure', [observer('pressure')], ENV)
    const shell = `${cgroup.enter}; ${isolate} ${SPIN}`
    const app = await run('app', ['sh', '-c', shell], { PLACE: cgroup.path })
    const throttled = () => cgroup.readKey('cpu.stat', 'nr_throttled')
    await untilTrue('the loop is throttled in 40 periods', () => throttled() >= 40, PATIENT)
    app.signal('SIGSTOP')
    const row = await nextRow(watching, 'container')
    watching.signal('SIGTERM')
    t.equal(await watching.ended, 0)
    isNear(t, row.throttled, cgroup.readKey('cpu.stat', 'throttled_time') / 1e9, 0.05, 'throttled')
    isNear(t, row.nr_throttled, throttled(), 0.05, 'nr_throttled')
    isNear(t, row.nr_periods, cgroup.readKey('cpu.stat', 'nr_periods'), 0.05, 'nr_periods')
    t.equal(row.cpu_limit, 0.02)
    const times = rowsOf(watching, 'container').map(({ throttled }) => Number(throttled))
    t.strictSame(
      times,
      [...times].sort((one, other) => one - other),
      'the throttled time only grows',
    )
  })
}

t.test(
  'a process that moves has the values of its new cgroup',
  withCgroups(options, 'cpu'),
  async (t) => {
    const first = makeCgroup(t, 'cpu', { 'cpu.cfs_quota_us': '20000' })
    const second = makeCgroup(t, 'cpu', { 'cpu.cfs_quota_us': '50000' })
    const { run } = await podOf(t)
    const app = await run('app', ['sh', '-c', `${first.enter}; echo begun; sleep 600; :`])
    await until(app, /begun/)
    const watching = await run('pressure', [observer('pressure')], ENV)
    t.equal((await nextRow(watching, 'container')).cpu_limit, 0.2)
    for (const pid of [app.pid, ...childrenOf(app.pid)])
      writeFileSync(join(second.path, 'cgroup.procs'), String(pid))
    t.equal((await nextRow(watching, 'container')).cpu_limit, 0.5)
    watching.signal('SIGTERM')
    t.equal(await watching.ended, 0)
  },
)

t.test(
  'the pressure stall time of a container with a cgroup namespace is correct',
  withCgroups(options, 'unified'),
  async (t) => {
    const cgroup = makeCgroup(t, 'unified')
    const { run } = await podOf(t)
    // Four loops on one processor wait for each other.
    const loop = `taskset -c ${oneProcessor()} timeout 5 sh -c '${SPIN}' &`
    const spin = `echo begun; ${loop.repeat(4)} wait; echo spun; sleep 600`
    const mount = 'mount -t cgroup2 none /sys/fs/cgroup/unified'
    const shell = `${cgroup.enter}; exec unshare --cgroup sh -c "$0"`
    const app = await run('app', ['sh', '-c', shell, `${mount}; ${spin}`])
    // Before, the shell is in the root of the cgroups, which has no pressure.
    await until(app, /begun/)
    const watching = await run('pressure', [observer('pressure')], ENV)
    await until(app, /spun/)
    const row = await nextRow(watching, 'container')
    watching.signal('SIGTERM')
    t.equal(await watching.ended, 0)
    const total = Number(cgroup.read('cpu.pressure').match(/^some .* total=(\d+)$/m)?.[1]) / 1e6
    t.ok(total > 2, `the kernel counted ${total} s of pressure, more than 2 s`)
    isNear(t, row.cpu_some, total, 0.05, 'cpu_some')
    t.type(row.memory_full, 'number')
    t.type(row.io_some, 'number')
    t.notMatch(noticesOf(watching).join('\n'), /pressure/)
  },
)

/** Returns the seconds that the hypervisor has taken from a processor since it was started. */
function stolen(processor: number): number {
  const line = new RegExp(`^cpu${processor} (.*)$`, 'm').exec(readFileSync('/proc/stat', 'utf8'))
  return Number(line?.[1]?.split(' ')[7]) / 100
}

/** Returns the first processor on which this process may run. */
function oneProcessor(): number {
  const list = execFileSync(onPath('taskset'), ['-cp', String(process.pid)], { encoding: 'utf8' })
  return Number(list.match(/: (\d+)/)?.[1])
}

t.test('each of two loops that share a core waits half of the time', options, async (t) => {
  const { run } = await podOf(t)
  const watching = await run('pressure', [observer('pressure')], ENV)
  const processor = oneProcessor()
  const loop = `taskset -c ${processor} sh -c 'echo begun; exec bash -c "${SPIN}"' &`
  const app = await run('app', ['sh', '-c', `${loop.repeat(2)} wait`])
  await until(app, /begun[\s\S]*begun/)
  const loops = childrenOf(app.pid)
  t.equal(loops.length, 2)
  const stolenBefore = stolen(processor)
  const first = await nextLoops(watching)
  const began = first.map(usage)
  await untilTrue(
    'the loops have run for twelve seconds',
    () => {
      const now = loopRows(watching).slice(-2).map(usage)
      return sum(now, 'ran') - sum(began, 'ran') >= 12
    },
    PATIENT,
  )
  const ended = (await nextLoops(watching)).map(usage)
  const lost = stolen(processor) - stolenBefore
  const both = sum(ended, 'ran') - sum(began, 'ran')
  // A loop always runs or waits. If only the loops use the core, each of them waits half of the
  // time. On a busy machine, both also wait while the core runs other programs.
  for (const [index, end] of ended.entries()) {
    const [ran, waited, elapsed] = (['ran', 'waited', 'at'] as const).map(
      (key) => end[key] - Number(began[index]?.[key]),
    ) as [number, number, number]
    isNear(t, ran / both, 0.5, 0.03, 'the share of a loop in the time of both loops')
    // The kernel does not count the time that a hypervisor takes as time in which a loop ran.
    const counted = waited + ran
    t.ok(counted <= 1.03 * elapsed, `a loop waited or ran for ${counted} of ${elapsed} s`)
    t.ok(counted >= 0.97 * elapsed - lost, `${counted} of ${elapsed} s; ${lost} s were stolen`)
  }
  for (const pid of loops) process.kill(pid, 'SIGSTOP')
  const stopped = await nextLoops(watching)
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
  for (const [index, pid] of loops.entries()) {
    const [runTime, waitTime] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')
    isNear(t, stopped[index]?.run_delay, Number(waitTime) / 1e9, 0.001, 'run_delay')
    isNear(t, stopped[index]?.cpu_time, Number(runTime) / 1e9, 0.01, 'cpu_time')
  }
})

interface Usage {
  readonly at: number
  readonly ran: number
  readonly waited: number
}

function usage({ time, cpu_time, run_delay }: Row): Usage {
  return { at: Date.parse(String(time)) / 1000, ran: Number(cpu_time), waited: Number(run_delay) }
}

function sum(rows: readonly Usage[], key: 'ran' | 'waited'): number {
  return rows.reduce((all, row) => all + row[key], 0)
}

/** Returns the rows of the two loops, by timepoint and process id. */
function loopRows(watching: Running): readonly Row[] {
  return rowsOf(watching, 'process').filter(({ program }) => program === 'bash')
}

/** Waits until two more timepoints have rows of both loops, and returns the last two rows. */
async function nextLoops(watching: Running): Promise<readonly Row[]> {
  const before = loopRows(watching).length
  await until(watching, () => loopRows(watching).length >= before + 4)
  const { time } = loopRows(watching).at(-1) ?? {}
  const last = loopRows(watching).filter((row) => row.time === time)
  return last.length === 2 ? last : nextLoops(watching)
}

/**
 * A program of two processes that share 192 MiB. The second process has 32 MiB of its own. This is
 * far more than the files of Python, whose share depends on the other Pythons of this machine.
 */
const SHARING = `
import mmap, os, time
shared = mmap.mmap(-1, 192 << 20)
for _ in range(192): shared.write(b'x' * (1 << 20))
child = os.fork()
own = b'y' * (32 << 20) if child == 0 else b''
sum(shared[::4096])
print('ready', flush=True)
time.sleep(600)`

t.test('the memory of a process is the sum of the sizes in its smaps', options, async (t) => {
  const { run } = await podOf(t)
  const app = await run('app', ['python3', '-c', SHARING])
  await until(app, /ready[\s\S]*ready/)
  const watching = await run('pressure', [observer('pressure')], ENV)
  await until(watching, () => rowsOf(watching, 'placement').length >= 2)
  const pids = [app.pid, ...childrenOf(app.pid)]
  const placements = rowsOf(watching, 'placement').slice(0, 2)
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
  for (const [index, pid] of pids.entries()) {
    const smaps = readFileSync(`/proc/${pid}/smaps`, 'utf8')
    const sizes = [...smaps.matchAll(/^Pss: +(\d+) kB$/gm)].map(([, size]) => Number(size))
    const pss = sizes.reduce((all, size) => all + size, 0)
    isNear(t, placements[index]?.pss, pss, 0.03, 'pss')
    const [, resident] = readFileSync(`/proc/${pid}/status`, 'utf8').match(/^VmRSS:\s+(\d+)/m) ?? []
    const words = String(placements[index]?.numa).split(' ')
    const onNodes = words.reduce((all, word) => all + Number(word.split(':')[1]), 0)
    isNear(t, onNodes, Number(resident), 0.03, 'memory on all nodes')
    t.ok(Number(placements[index]?.numa_remote) <= onNodes)
  }
})

t.test('a placement has the processors on which the process may run', options, async (t) => {
  const { run } = await podOf(t)
  const processor = oneProcessor()
  const app = await run('app', ['taskset', '-c', String(processor), 'sleep', '600'])
  const isPinned = () => {
    const status = readFileSync(`/proc/${app.pid}/status`, 'utf8')
    return status.includes(`Cpus_allowed_list:\t${processor}\n`)
  }
  while (!isPinned()) await sleep(20)
  const watching = await run('pressure', [observer('pressure')], ENV)
  await until(watching, () => rowsOf(watching, 'placement').length >= 1)
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
  const expected = { cpus_allowed: String(processor), cpus_allowed_count: 1, numa_remote: 0 }
  t.match(rowsOf(watching, 'placement')[0], expected)
})

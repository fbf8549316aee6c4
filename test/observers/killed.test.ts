import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { until as untilTrue } from '../until.ts'
import { observer, podOf, type Running, until } from './pod.ts'
import { observerTests, parse, timepointsIn } from './prerequisites.ts'

// The shell of an observer outlives its gawk, however gawk ends.

const options = { ...observerTests(), timeout: 120_000 }
const NATIVE = { RIDEALONG_TARGET_CONTAINER: 'app', RIDEALONG_OPTION_RATE: '0.3' }
const CONTAINER = { ...NATIVE, RIDEALONG_MODE: 'container', RIDEALONG_RESTART_POLICY: 'Never' }
const PERF = observer('perf-sysstat')

t.test('when gawk is killed the shell closes the log and waits', options, async (t) => {
  const { run } = await podOf(t)
  await run('app', ['sleep', '600'])
  const native = await run('perf-sysstat', [PERF], NATIVE)
  const container = await run('perf-sysstat', [PERF], CONTAINER)
  for (const watching of [native, container]) {
    await until(watching, /TIMEPOINT/)
    process.kill(childrenOf(watching.pid)[0] ?? 0, 'SIGKILL')
  }
  t.equal(await container.ended, 0)
  await waitsForSigterm(t, native)
  for (const { log } of [native, container]) {
    t.match(log(), 'the observer failed; nothing more is collected')
    t.equal(log().split('COLLECTION END').length, 2, 'one marker')
    t.ok(parse('perf-sysstat', log()).data.length > 0)
  }
})

const FORKS = `
import os, time
for _ in range(700):
    if os.fork() == 0: time.sleep(600)
time.sleep(600)`

t.test('gawk ends before its container has no memory left', options, async (t) => {
  const { run } = await podOf(t)
  await run('app', ['python3', '-c', FORKS])
  // A cgroup's folder, as a container sees its own; nothing enforces this limit.
  const limited = `mount -t tmpfs none /sys/fs/cgroup; echo ${10 << 20} >/sys/fs/cgroup/memory.max; exec ${PERF}`
  const native = await run('perf-sysstat', ['sh', '-c', limited], NATIVE)
  const container = await run('perf-sysstat', ['sh', '-c', limited], CONTAINER)
  t.equal(await container.ended, 0)
  await waitsForSigterm(t, native)
  for (const { log } of [native, container]) {
    t.match(log(), /fatal: .*allocate/)
    t.equal(log().split('COLLECTION END').length, 2, 'one marker')
    t.equal(parse('perf-sysstat', log()).data.length, timepointsIn(log()))
  }
})

/** Checks that an observer uses no processor time until SIGTERM ends it. */
async function waitsForSigterm(t: Test, watching: Running): Promise<void> {
  await until(watching, /COLLECTION END/)
  await untilTrue('the shell uses no processor time', async () => {
    const before = ticksOf(watching.pid)
    await sleep(1000)
    return ticksOf(watching.pid) === before
  })
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
}

function childrenOf(pid: number): readonly number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number)
}

/** The processor time of a process, in clock ticks (proc_pid_stat(5), fields 14 and 15). */
function ticksOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return Number(fields[11]) + Number(fields[12])
}

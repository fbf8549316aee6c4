import t from 'tap'
import { observer, podOf } from '../pod.ts'
import { observerTests, summaryOf } from '../prerequisites.ts'
import { moreTimepoints, startCrowd } from './crowd.ts'
import { memoryGroup, reasonToSkipGroups } from './memory-group.ts'

// Tests of an observer with a small memory limit in a pod with many processes.

const options = { skip: observerTests().skip || reasonToSkipGroups(), timeout: 600_000 }
const LIMIT = 32 << 20
const PERF = observer('perf-sysstat')
const ENV = {
  RIDEALONG_TARGET_CONTAINER: 'app',
  RIDEALONG_OPTION_RATE: '0.5',
  RIDEALONG_OPTION_MAX_LOG: '256',
}

/** Returns a shell command that shows the observer a limit that is not the one of its cgroup. */
function show(limit: number): string {
  return `mount -t tmpfs none /sys/fs/cgroup; echo ${limit} >/sys/fs/cgroup/memory.max`
}

// The kernel frees the memory of the files in /proc so late that it can kill an observer that has
// reached its limit. An observer of so many processes does not reach it.
t.test('an observer of 2,000 processes stays within 32 MiB', options, async (t) => {
  const pod = await podOf(t)
  await startCrowd(t, pod, 2000)
  const group = memoryGroup(t, LIMIT)
  const command = `${group.join}; ${group.show}; exec ${PERF}`
  const watching = await pod.run('perf-sysstat', ['sh', '-c', command], ENV)
  await moreTimepoints(watching, 3)
  t.equal(group.kills(), 0, 'the kernel killed no process of the group')
  t.ok(group.peak() <= LIMIT, `the group used ${group.peak()} bytes, at most ${LIMIT}`)
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
  t.notOk(summaryOf(watching.log())[0]?.processes_left_out)
})

t.test('an observer that reads a limit of 16 MiB leaves out processes', options, async (t) => {
  const pod = await podOf(t)
  await startCrowd(t, pod, 4000)
  const command = `${show(16 << 20)}; exec ${PERF}`
  const watching = await pod.run('perf-sysstat', ['sh', '-c', command], ENV)
  await moreTimepoints(watching, 3)
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
  t.match(watching.log(), /ridealong: \d+ processes are left out: there is memory for \d+/)
  t.ok(Number(summaryOf(watching.log())[0]?.processes_left_out) > 1000)
})

t.test(
  'the application continues after the kernel has killed an observer because of its memory limit',
  options,
  async (t) => {
    const pod = await podOf(t)
    const { app } = await startCrowd(t, pod, 4000)
    const group = memoryGroup(t, LIMIT / 4)
    // The observer reads a limit of 1 GiB, but the limit of its cgroup is smaller.
    const command = `${group.join}; ${show(1 << 30)}; exec ${PERF}`
    const watching = await pod.run('perf-sysstat', ['sh', '-c', command], ENV)
    t.equal(await watching.ended, 'SIGKILL')
    t.equal(group.kills(), 1)
    process.kill(app.pid, 0)
    app.signal('SIGUSR1')
    t.equal(await app.ended, 7, 'the application ends with its own exit code')
  },
)

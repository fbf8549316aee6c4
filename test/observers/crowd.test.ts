import t from 'tap'
import { observer, podOf, until } from './pod.ts'
import { observerTests, parse, summaryOf, timepointsIn } from './prerequisites.ts'

const options = observerTests()
const TARGET = { RIDEALONG_TARGET_CONTAINER: 'app' }

const FORKS = `
import os, time
for _ in range(999):
    if os.fork() == 0: time.sleep(600)
print('forked', flush=True)
time.sleep(600)`

t.test('the observer writes a row for each of a thousand processes', options, async (t) => {
  const { run } = await podOf(t)
  const app = await run('app', ['python3', '-c', FORKS])
  const watching = await run('perf-sysstat', [observer('perf-sysstat')], {
    ...TARGET,
    RIDEALONG_OPTION_RATE: '2',
    RIDEALONG_OPTION_MAX_LOG: '64',
  })
  // A timepoint has no rows for processes that are younger than a tenth of a second.
  await until(app, /forked/)
  const before = timepointsIn(watching.log())
  await until(watching, () => timepointsIn(watching.log()) >= before + 3)
  // After SIGTERM, the observer waits only half a second for the reader, so it may not write the
  // rest of a timepoint.
  await until(watching, () => isWhole(watching.log()))
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
  const { data } = parse('perf-sysstat', watching.log())
  t.equal(data.length, timepointsIn(watching.log()))
  const last = data.at(-1) ?? {}
  for (const [section, rows] of Object.entries(last)) {
    const pids = new Set(rows.map(({ pid }) => pid))
    t.equal(pids.size, 1000, `all processes have rows in the section ${section}`)
    t.equal(rows.length, 1000)
  }
  const ofProgram = summaryOf(watching.log()).find(({ program }) => program === 'python3')
  t.equal(ofProgram?.processes, 1000)
  t.ok(watching.message().length <= 4096)
})

/** Reports whether the last section of the last timepoint has its rows. */
function isWhole(log: string): boolean {
  const [, rows = ''] = log.slice(log.lastIndexOf('TIMEPOINT')).split('TASK SWITCHING\n')
  return rows.endsWith(']\n')
}

const ZOMBIES = `
import os, time
for _ in range(20):
    pid = os.fork()
    if pid == 0: os._exit(0)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
print('forked', flush=True)
time.sleep(600)`

t.test('the memory of a zombie is null', options, async (t) => {
  const { run } = await podOf(t)
  const app = await run('app', ['python3', '-c', ZOMBIES])
  const env = { ...TARGET, RIDEALONG_OPTION_RATE: '0.3' }
  const watching = await run('perf-sysstat', [observer('perf-sysstat')], env)
  await until(app, /forked/)
  const before = timepointsIn(watching.log())
  await until(watching, () => timepointsIn(watching.log()) >= before + 3)
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
  const rows = parse('perf-sysstat', watching.log()).data.at(-1)?.pagefaults_task ?? []
  t.equal(rows.filter(({ rss }) => rss === null).length, 20)
  t.equal(rows.filter(({ rss }) => Number(rss) > 0).length, 1)
})

/**
 * Starts a program. On SIGUSR1, ends this program and starts another one with the same process id.
 */
const SUCCESSION = `
trap : USR1
cp /bin/sleep /dev/shm/first; cp /bin/sleep /dev/shm/second
echo 4000 >/proc/sys/kernel/ns_last_pid
/dev/shm/first 600 & wait
kill $!; wait $!
echo 4000 >/proc/sys/kernel/ns_last_pid
/dev/shm/second 600 & wait`

t.test('the observer distinguishes two processes that had the same id', options, async (t) => {
  const { run } = await podOf(t)
  const env = { ...TARGET, RIDEALONG_OPTION_RATE: '0.3', RIDEALONG_TARGET_COMMAND: 'first|second' }
  const watching = await run('perf-sysstat', [observer('perf-sysstat')], env)
  // After this line of the log, the observer starts no process. A process that started later could
  // get the id 4001.
  await until(watching, /waiting for/)
  const app = await run('app', ['dash', '-c', SUCCESSION])
  await until(watching, /"pid":4001,[^}]*"program":"first"/)
  app.signal('SIGUSR1')
  await until(watching, /"pid":4001,[^}]*"program":"second"/)
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
  for (const timepoint of parse('perf-sysstat', watching.log()).data) {
    t.match(timepoint.policy, [{ pid: 4001, program: /^(first|second)$/ }])
  }
  const lines = summaryOf(watching.log())
  t.strictSame(lines.map(({ program = 'all', processes }) => `${program} ${processes}`).sort(), [
    'all 2',
    'first 1',
    'second 1',
  ])
})

t.test('an observer does not wait forever for a target that has ended', options, async (t) => {
  const { run } = await podOf(t)
  t.equal(await (await run('app', ['sh', '-c', 'exit 7'])).ended, 7)
  const argv = [observer('perf-sysstat')]
  const native = await run('perf-sysstat', argv, { ...TARGET, RIDEALONG_OPTION_TIMEOUT: '1' })
  const container = await run('perf-sysstat', argv, {
    ...TARGET,
    RIDEALONG_MODE: 'container',
    RIDEALONG_RESTART_POLICY: 'Never',
  })
  t.equal(await container.ended, 0, 'an ordinary container does not prevent a Job from completing')
  t.match(container.log(), /ended: no process of container app within 30 seconds: the container/)
  t.match(native.log(), /ended: no sign of a process of container app within 1 seconds/)
  process.kill(native.pid, 0)
  native.signal('SIGTERM')
  t.equal(await native.ended, 0, 'a native sidecar stays until SIGTERM')
  for (const { log } of [native, container]) {
    t.strictSame(parse('perf-sysstat', log()).data, [])
    t.match(log().trimEnd(), /SUMMARY END$/)
  }
})

import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { observer, podOf, until } from '../pod.ts'
import { observerTests, parse, timepointsIn } from '../prerequisites.ts'
import { compiled } from './compiled.ts'

// Tests with processes that look like the container runtime, or like processes of an observer.

const options = { ...observerTests(), timeout: 800_000 }
const ENV = { RIDEALONG_TARGET_CONTAINER: 'app', RIDEALONG_OPTION_RATE: '0.3' }
const ENDING = { ...ENV, RIDEALONG_MODE: 'container', RIDEALONG_RESTART_POLICY: 'Never' }

/** Gives a process the name that runc gives to the process in a new container. */
const RENAME = `
import ctypes, os, sys, time
def rename(): ctypes.CDLL(None).prctl(15, b'runc:[2:INIT]', 0, 0, 0)
`

t.test('a process that runs in a new container is not observed', options, async (t) => {
  const { run } = await podOf(t)
  const execute = `os.execv('/bin/sleep', ['sleep', '600'])`
  const wait = `while not os.path.exists('/dev/shm/go'): time.sleep(0.05)`
  const runtime = `${RENAME}rename()\nprint('ready', flush=True)\n${wait}\n${execute}`
  const app = await run('app', ['python3', '-c', runtime])
  await until(app, /ready/)
  // A node on which many pods start can take longer than half a minute.
  await sleep(31_000)
  const watching = await run('perf-sysstat', [observer('perf-sysstat')], ENV)
  await until(watching, /waiting for/)
  await run('other', ['sh', '-c', ': >/dev/shm/go'])
  await until(watching, /"program":"sleep"/)
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
  t.notOk(watching.log().includes('runc:'))
})

t.test('a process that names itself like the container runtime has rows', options, async (t) => {
  const { run } = await podOf(t)
  const watching = await run('perf-sysstat', [observer('perf-sysstat')], ENDING)
  const child = 'if os.fork() == 0: rename(); time.sleep(600)'
  const app = await run('app', [
    'python3',
    '-c',
    `${RENAME}${child}\ntime.sleep(3)\nrename()\ntime.sleep(600)`,
  ])
  const renamed = () => parse('perf-sysstat', watching.log()).data.at(-1)?.policy ?? []
  await until(watching, /"command":"runc:\[2:INIT\]"/)
  const before = timepointsIn(watching.log())
  await sleep(3000)
  await until(watching, () => timepointsIn(watching.log()) >= before + 2)
  t.notOk(watching.log().includes('ended:'), 'the observer goes on while the application runs')
  app.signal('SIGKILL')
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
  t.equal(renamed().filter(({ command }) => command === 'runc:[2:INIT]').length >= 1, true)
})

/**
 * Starts a process that belongs to no process of its container, and that has mounts of its own:
 * without the kubelet's mount, and with one that looks like that of an observer.
 */
const DETACH = `
file=/dev/shm/pods/x/containers/perf-sysstat/1
mkdir -p "\${file%/*}"; : >"$file"; : >/dev/shm/target
(setsid unshare --mount sh -c '
  umount /dev/termination-log
  mount --bind "$1" /dev/shm/target
  mount --bind /dev/shm /mnt
  echo detached
  exec sleep 601' sh "$file" &)
sleep 1
echo parent
exec sleep 600`

t.test('a detached process with mounts of its own belongs to its container', options, async (t) => {
  const { run } = await podOf(t)
  const app = await run('app', ['sh', '-c', DETACH])
  // The process has its own mounts before the observer starts.
  await until(app, () => /detached/.test(app.log()) && /parent/.test(app.log()))
  await sleep(500)
  const watching = await run('perf-sysstat', [observer('perf-sysstat')], ENV)
  await until(watching, () => timepointsIn(watching.log()) >= 2)
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
  app.signal('SIGKILL')
  const rows = parse('perf-sysstat', watching.log()).data.at(-1)?.policy ?? []
  t.strictSame(
    rows.map(({ container, program }) => [container, program]),
    [
      ['app', 'sleep'],
      ['app', 'sleep'],
    ],
  )
})

t.test('the log says why the files of a protected process cannot be read', options, async (t) => {
  const { run } = await podOf(t)
  const as = { user: 1234, group: 1234, drops: true }
  const watching = await run('perf-sysstat', [observer('perf-sysstat')], ENV, as)
  const [protects] = compiled(t, 'protects')
  await run('app', [protects], {}, as)
  await until(watching, /cannot be read: it has protected itself \(PR_SET_DUMPABLE\)/)
  const before = timepointsIn(watching.log())
  await until(watching, () => timepointsIn(watching.log()) >= before + 2)
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
  const { io_statistics: io, pagefaults_task: faults } =
    parse('perf-sysstat', watching.log()).data.at(-1) ?? {}
  t.equal(io?.[0]?.kb_wr_s, null)
  t.ok(Number(faults?.[0]?.rss) > 0)
})

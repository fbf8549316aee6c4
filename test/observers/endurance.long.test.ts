import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { until as untilTrue } from '../until.ts'
import { observer, podOf, until } from './pod.ts'
import { observerTests, parse, summaryOf, timepointsIn } from './prerequisites.ts'

// Tests in extreme situations. The observer must not fail, use much processor time or report wrong
// values.

const options = { ...observerTests(), timeout: 800_000 }
const ENV = { RIDEALONG_TARGET_CONTAINER: 'app', RIDEALONG_OPTION_RATE: '0.3' }
const PERF = observer('perf-sysstat')

/**
 * Starts an observer that sees a memory limit of 1 MiB, which is enough for 64 processes and 64
 * threads.
 */
const SMALL = `
mount -t tmpfs none /sys/fs/cgroup; echo 1048576 >/sys/fs/cgroup/memory.max; exec ${PERF}`

t.test('the observer counts the processes for which it has no memory', options, async (t) => {
  const { run } = await podOf(t)
  const many = 'i=0; while [ $i -lt 99 ]; do sleep 600 & i=$((i+1)); done; echo started; wait'
  await until(await run('app', ['sh', '-c', many]), /started/)
  const watching = await run('perf-sysstat', ['sh', '-c', SMALL], ENV)
  await until(watching, () => timepointsIn(watching.log()) >= 3)
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
  t.match(watching.log(), /ridealong: \d+ processes are left out: there is memory for 64/)
  const { data } = parse('perf-sysstat', watching.log())
  t.ok((data.at(-1)?.policy?.length ?? 0) <= 64)
  t.ok(Number(summaryOf(watching.log())[0]?.processes_left_out) >= 36)
})

const THREADS = `
import threading, time
for _ in range(99): threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
print('started', flush=True)
time.sleep(600)`

t.test('context switches are null if there are too many threads to read', options, async (t) => {
  const { run } = await podOf(t)
  await until(await run('app', ['python3', '-c', THREADS]), /started/)
  const watching = await run('perf-sysstat', ['sh', '-c', SMALL], ENV)
  await until(watching, /"threads":"100"/)
  const before = timepointsIn(watching.log())
  await until(watching, () => timepointsIn(watching.log()) > before + 1)
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
  t.match(watching.log(), /ridealong: 100 threads are left out, because a scan reads at most 64;/)
  const last = parse('perf-sysstat', watching.log()).data.at(-1)
  t.match(last?.task_switching?.[0], { cswch_s: null, nvcswch_s: null })
  t.match(last?.cpu_statistics_task?.[0], { percent_wait: null })
  t.type(last?.cpu_statistics_task?.[0]?.percent_cpu, 'number')
  t.equal(summaryOf(watching.log())[0]?.context_switches, null)
})

/**
 * The number of bytes after which a pipe counts as full. Its capacity is 16 pages (pipe(7)), and
 * writes of less than a page may leave parts of pages empty.
 */
const FULL_PIPE = 14 * 4096

/** Starts an observer whose log is never read. */
const STALLED = `mkfifo /dev/shm/log; exec 3<>/dev/shm/log; exec ${PERF} >/dev/shm/log`

t.test('the observer scans and ends although its log is not read', options, async (t) => {
  const { run } = await podOf(t)
  const many = 'i=0; while [ $i -lt 63 ]; do sleep 600 & i=$((i+1)); done; echo started; wait'
  await until(await run('app', ['sh', '-c', many]), /started/)
  const watching = await run('perf-sysstat', ['sh', '-c', STALLED], ENV)
  await untilTrue('the pipe is full', () => bytesWritten(watching.pid) >= FULL_PIPE)
  const before = cpuTicks(watching.pid)
  await sleep(1000)
  t.ok(cpuTicks(watching.pid) - before < 50, 'the observer has no busy loop')
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
  t.match(JSON.parse(watching.message().split('\n')[0] ?? ''), { processes: 64 })
})

t.test('the observer reports that its log has no reader, and continues', options, async (t) => {
  const { run } = await podOf(t)
  await run('app', ['sleep', '60'])
  const gone = `mkfifo /dev/shm/gone; sleep 1 </dev/shm/gone & exec ${PERF} >/dev/shm/gone`
  const watching = await run('perf-sysstat', ['sh', '-c', gone], ENV)
  await until(watching, /the log cannot be written: Broken pipe/)
  await sleep(500)
  process.kill(watching.pid, 0)
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
})

t.test('the observer reports that /proc hides processes', options, async (t) => {
  const { run } = await podOf(t)
  const hiding = `mount -t proc -o hidepid=2 none /proc; exec ${PERF}`
  const watching = await run('perf-sysstat', ['sh', '-c', hiding], ENV)
  await until(watching, /waiting for/)
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
  t.match(watching.log(), /ridealong: \/proc is mounted with hidepid=(2|invisible): processes of/)
})

/**
 * Starts processes whose names have invalid UTF-8, control sequences or characters that reverse
 * text.
 */
const HOSTILE = `
import ctypes, os, time
for name in [b'a\\x1b[2J', b'b\\xff\\xfe', 'c\\u202exyz'.encode(), 'd\\u009b1m'.encode()]:
    if os.fork() == 0:
        ctypes.CDLL(None).prctl(15, name, 0, 0, 0)
        time.sleep(600)
time.sleep(600)`

t.test('hostile characters in names are replaced by question marks', options, async (t) => {
  const { run } = await podOf(t)
  const watching = await run('perf-sysstat', [PERF], ENV)
  await run('app', ['python3', '-c', HOSTILE])
  const names = ['a?[2J', 'b??', 'c?xyz', 'd?1m', 'python3']
  const isNamed = (name: string) => watching.log().includes(`"command":"${name}"`)
  await until(watching, () => names.every(isNamed))
  const before = timepointsIn(watching.log())
  await until(watching, () => timepointsIn(watching.log()) > before)
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
  const rows = parse('perf-sysstat', watching.log()).data.at(-1)?.policy ?? []
  t.strictSame(rows.map(({ command }) => command).sort(), names)
})

t.test('a hostile regular expression takes little processor time', options, async (t) => {
  const { run } = await podOf(t)
  const size = { ...ENV, RIDEALONG_TARGET_COMMAND: '((((a{1,255}){1,255}){1,255}){1,255})' }
  const refused = await run('perf-sysstat', [PERF], size)
  await until(refused, /SUMMARY END/)
  t.match(refused.log(), /ended: invalid target-command: /)
  refused.signal('SIGTERM')
  t.equal(await refused.ended, 0)
  const time = { ...ENV, RIDEALONG_TARGET_COMMAND: '^((a*)*(a*)*(a*)*(a*)*)*b$' }
  const watching = await run('perf-sysstat', [PERF], time)
  const name = 'a'.repeat(250)
  await run('app', ['sh', '-c', `cp /bin/sleep /dev/shm/${name}; /dev/shm/${name} 600`])
  await until(watching, /waiting for/)
  await sleep(2000)
  t.ok(cpuTicks(watching.pid) < 50)
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
})

/** Returns the number of bytes that a process has passed to write(2), including writes to pipes. */
function bytesWritten(pid: number): number {
  return Number(/^wchar: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1])
}

/** Returns the processor time of a process in hundredths of a second. */
function cpuTicks(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return Number(fields[11]) + Number(fields[12])
}

import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { freePorts } from '../../free-ports.ts'
import { mismatchesIn, noticesOf, rowsOf } from '../../observers/json-rows.ts'
import { until } from '../../observers/pod.ts'
import { onPath, type Row, summaryOf } from '../../observers/prerequisites.ts'
import { profiledPod } from './profiled-pod.ts'
import { program, pythons, pythonTests, systemPython } from './sampler.ts'

const options = pythonTests()
const LINES = readFileSync(program('ranks.py'), 'utf8').split('\n')
/** The number of the line of ranks.py with a comment. */
const lineOf = (comment: string) => LINES.findIndex((line) => line.endsWith(`# ${comment}`)) + 1
const sum = (rows: readonly Row[], column: string) =>
  rows.reduce((whole, row) => whole + Number(row[column]), 0)

for (const { version, path } of pythons())
  t.test(`CPython ${version}: the lines in which ranks wait are named`, options, async (t) => {
    const { watching, start } = await profiledPod(t)
    const [port] = await freePorts(1)
    const words = [path, program('ranks.py')]
    const ranks = [0, 1].map((rank) => start(...words, String(rank), String(port), '6'))
    const [first, second] = await Promise.all(ranks)
    t.strictSame(await Promise.all([first?.ended, second?.ended]), [0, 0])
    t.equal(await watching.ended, 0)
    t.strictSame(mismatchesIn(watching, 'python-profile'), [])
    // A busy machine can give the sampler no processor for some time.
    const notices = noticesOf(watching).filter((notice) => !/ was stopped, or /.test(notice))
    t.strictSame(notices, [])
    const last = rowsOf(watching, 'process').filter(({ state }) => state === 'ended')
    t.match(last, Array(2).fill({ python: version, sampler: 'sampling', program: 'ranks.py' }))
    for (const { main_seconds, samples, unread } of last) {
      t.ok(Number(main_seconds) > 3, `the main thread is sampled for ${main_seconds} s`)
      t.ok(Number(unread) <= Number(samples) / 20, `${unread} of ${samples} samples are unread`)
    }
    const worst = last.map(({ pid }) => {
      const rows = rowsOf(watching, 'function').filter((row) => row.pid === pid)
      const waiting = (row: Row) => Number(row.self_wall) - Number(row.self_running)
      const [most] = rows.sort((one, other) => waiting(other) - waiting(one))
      return String(most?.function).replace(/ \(.*:(\d+)\)$/, ' $1')
    })
    t.strictSame(worst.sort(), [
      `load_batch ${lineOf('the late rank')}`,
      `synchronize ${lineOf('the other rank waits here')}`,
    ])
    const stacks = rowsOf(watching, 'stack')
    t.match(
      stacks.find(({ stack }) => /;load_batch \([^;]*$/.test(String(stack))),
      { threads: 'main', stack: /^<module> \(.*;main \(.*;load_batch \(\/.*ranks\.py:\d+\)$/ },
    )
    for (const { pid, main_seconds } of last) {
      const own = stacks.filter((row) => row.pid === pid)
      const difference = Math.abs(sum(own, 'wall') - Number(main_seconds))
      t.ok(difference < 0.01, 'the stacks add up to the time of the process')
    }
    const now = rowsOf(watching, 'now')
    t.ok(now.length > 4, 'there are stacks at the timepoints')
    // The first stacks can be those of the interpreter's own start.
    t.match(now.at(-1), { threads: 'main', stack: /^<module>/ })
    t.match(summaryOf(watching.log()), [{ metric: 'python-profile', profiles: 2 }])
  })

t.test('a process that is killed, hangs or ends with _exit has its profile', options, async (t) => {
  const { watching, start } = await profiledPod(t)
  const python = systemPython()
  const wait = 'import time\ndef hang():\n  time.sleep(60)\nhang()'
  const end = 'import os, time\ndef work():\n  time.sleep(8)\nwork()\nos._exit(3)'
  const [hung, exited] = [await start(python, '-c', wait), await start(python, '-c', end)]
  t.equal(await exited.ended, 3)
  hung.signal('SIGKILL')
  t.equal(await hung.ended, 'SIGKILL')
  t.equal(await watching.ended, 0)
  const stacks = rowsOf(watching, 'stack').map(({ stack }) => stack)
  for (const name of ['hang (<string>:3)', 'work (<string>:3)'])
    t.ok(
      stacks.some((stack) => String(stack).endsWith(name)),
      name,
    )
  const [longest] = rowsOf(watching, 'now')
    .filter(({ stack }) => String(stack).endsWith('hang (<string>:3)'))
    .slice(-1)
  t.match(longest, { activity: 'waiting', threads: 'main' })
  t.ok(Number(longest?.unchanged) > 2, `the stack is the same for ${longest?.unchanged} s`)
})

const AGAIN = `
import time
source = "def render():\\n  return part()\\ndef part():\\n  time.sleep(0.02)\\nrender()"
for _ in range(200):
  exec(compile(source, "page.html", "exec"), {"time": time})`

t.test('code that is compiled again has one row of each stack', options, async (t) => {
  const { watching, start } = await profiledPod(t)
  const app = await start(systemPython(), '-c', AGAIN)
  t.equal(await app.ended, 0)
  t.equal(await watching.ended, 0)
  const stacks = rowsOf(watching, 'stack').map(({ stack }) => String(stack))
  const page = stacks.filter((stack) => stack.endsWith('part (page.html:4)'))
  t.equal(page.length, 1)
  t.match(page[0], /^<module> \(<string>:\d\);<module> \(page.html:5\);render \(page.html:2\);/)
  t.equal(new Set(stacks).size, stacks.length)
})

/** A thread of C calls a function of Python, and then waits in C, in the destructor of a key. */
const LEFT = `
import ctypes, time
libc = ctypes.CDLL(None)
key, thread = ctypes.c_uint(), ctypes.c_ulong()
libc.pthread_key_create(ctypes.byref(key), libc.sleep)
@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def hook(argument):
  libc.pthread_setspecific(key, ctypes.c_void_p(600))
  time.sleep(0.5)
libc.pthread_create(ctypes.byref(thread), None, hook, None)
def wait():
  time.sleep(6)
wait()`

t.test('a thread that has left Python has no stack any more', options, async (t) => {
  const { watching, start } = await profiledPod(t)
  const app = await start(systemPython(), '-c', LEFT)
  t.equal(await app.ended, 0)
  t.equal(await watching.ended, 0)
  const seen = rowsOf(watching, 'stack').some(({ stack }) => /^hook [^;]*$/.test(String(stack)))
  t.ok(seen, 'the thread was in Python')
  const now = rowsOf(watching, 'now')
  const last = now.filter(({ time }) => time === now.at(-1)?.time)
  t.strictSame(
    last.map(({ threads }) => threads),
    ['main'],
  )
  t.match(last[0]?.stack, /;wait \([^;]*$/)
})

const STOP_MS = 4000
const PAUSES = 'import time\ndef work():\n  for _ in range(60): time.sleep(0.05)\nwork()'

t.test('the time in which a process was stopped is in no row', options, async (t) => {
  const { watching, start } = await profiledPod(t)
  const began = performance.now()
  const app = await start(systemPython(), '-c', PAUSES)
  await until(watching, /work \(<string>:3\)/)
  app.signal('SIGSTOP')
  await sleep(STOP_MS)
  app.signal('SIGCONT')
  t.equal(await app.ended, 0)
  const life = (performance.now() - began) / 1000
  t.equal(await watching.ended, 0)
  const stopped = noticesOf(watching).flatMap((notice) => {
    const [, seconds] = /was stopped, .* for ([\d.]+) s; no row has this time$/.exec(notice) ?? []
    return seconds === undefined ? [] : [Number(seconds)]
  })
  t.equal(stopped.length, 1)
  t.ok(Number(stopped[0]) > STOP_MS / 1000 - 0.5, `it was stopped for ${stopped} s`)
  const last = rowsOf(watching, 'process').find(({ state }) => state === 'ended')
  const seconds = Number(last?.main_seconds)
  t.ok(seconds + Number(stopped[0]) < life + 0.1, `${seconds} s of ${life} s have samples`)
})

t.test('a program without Python has no profile, and a notice says so', options, async (t) => {
  const { watching, start } = await profiledPod(t)
  const app = await start(onPath('sleep'), '3')
  t.equal(await app.ended, 0)
  t.equal(await watching.ended, 0)
  t.strictSame(rowsOf(watching, 'process'), [])
  t.match(noticesOf(watching), [/^no process has a profile of Python: /])
})

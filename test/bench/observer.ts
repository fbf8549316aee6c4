/**
 * Measures the cost of the observers, of pidstat, and of a program that only reads the same files:
 * `npm run bench:observer`. Also measures how much an observer lengthens the loop of LAMMPS. The
 * measurement needs Linux, root and 16 GiB of memory. The variables MEBIBYTES, ROUNDS, SECONDS and
 * PAIRS can reduce its size; with ROUNDS=0 or PAIRS=0, one of the two parts is skipped.
 */
import { execFile, execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { median } from '../../src/lib/statistics.ts'
import { observer, openFolder, type Pod, type Running, startPod } from '../observers/pod.ts'
import { onPath } from '../observers/prerequisites.ts'
import { benchLammps } from './lammps.ts'

const MEBIBYTES = Number(process.env.MEBIBYTES ?? 256)
const ROUNDS = Number(process.env.ROUNDS ?? 5)
const SECONDS = Number(process.env.SECONDS ?? 20)
/** The seconds until a program has started, and the seconds in which system calls are counted. */
const BEGINNING = 3
const COUNTED = 10

const FLOOR_SOURCE = fileURLToPath(new URL('read-files.c', import.meta.url))

/**
 * The observed processes: their number, their memory, their threads, and how often they wake up.
 */
interface Load {
  readonly title: string
  readonly processes: number
  readonly mebibytes: number
  readonly threads: number
  readonly wakesPerSecond: number
}

const LOADS: readonly Load[] = [
  {
    title: `64 processes of ${MEBIBYTES} MiB`,
    processes: 64,
    mebibytes: MEBIBYTES,
    threads: 1,
    wakesPerSecond: 50,
  },
  { title: '1,000 processes', processes: 1000, mebibytes: 0, threads: 1, wakesPerSecond: 1 },
  {
    title: '64 processes of 8 threads, with rows for each thread',
    processes: 64,
    mebibytes: 0,
    threads: 8,
    wakesPerSecond: 10,
  },
]

/**
 * Returns a Python program that forks processes. Each process writes to its memory, starts its
 * threads, and wakes up regularly.
 */
const programOf = ({ processes, mebibytes, threads, wakesPerSecond }: Load) => `
import os, threading, time
def wake():
    while True: time.sleep(${1 / wakesPerSecond})
for i in range(${processes}):
    if i == ${processes - 1} or os.fork() == 0:
        memory = bytearray(${mebibytes} << 20)
        for at in range(0, len(memory), 4096): memory[at] = 1
        for _ in range(${threads - 1}): threading.Thread(target=wake, daemon=True).start()
        wake()`

/** The metrics that vitals replaces. */
const THREE = ['perf-sysstat', 'pressure', 'network'] as const
/** The starts of which the time until the first sample is measured. */
const STARTS = 10

/** A program that takes a sample every second. */
interface Subject {
  readonly name: string
  readonly argv: readonly string[]
  readonly env?: NodeJS.ProcessEnv
}

function subjectsOf({ threads }: Load, floor: string): readonly Subject[] {
  const isThreaded = threads > 1
  const ours = {
    RIDEALONG_TARGET_CONTAINER: 'app',
    RIDEALONG_OPTION_RATE: '1',
    RIDEALONG_OPTION_MAX_LOG: '1024',
    ...(isThreaded && { RIDEALONG_OPTION_THREADS: 'true' }),
  }
  const pidstat = ['pidstat', isThreaded ? '-duvwrhIt' : '-duvwrhI', '-C', 'python3', '1']
  return [
    { name: 'perf-sysstat', argv: [observer('perf-sysstat')], env: ours },
    { name: 'pidstat', argv: pidstat },
    { name: 'read-files', argv: isThreaded ? [floor, 'threads'] : [floor] },
    ...(['pressure', 'network', 'vitals'] as const).map((name) => {
      return { name, argv: [observer(name)], env: ours }
    }),
  ]
}

/** The share of a core, in percent, and resident memory in MiB. */
interface Cost {
  readonly share: number
  readonly mebibytes: number
}

async function benchLoad(load: Load, floor: string): Promise<void> {
  print(`${load.title}, one sample per second, medians of ${ROUNDS} rounds of ${SECONDS} s:`)
  // Like a real pod, it has a network of its own, without the sockets of this machine.
  const pod = await startPod(true)
  try {
    await pod.run('app', ['python3', '-c', programOf(load)])
    await sleep(10_000)
    const subjects = subjectsOf(load, floor)
    const costs = new Map<Subject, Cost[]>(subjects.map((subject) => [subject, []]))
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const [subject, list] of costs) list.push(await costOf(pod, subject))
    }
    const calls = await callsOf(pod, subjects)
    const [ours = 0] = subjects.map((subject) => shareOf(costs.get(subject)))
    for (const subject of subjects) {
      const list = costs.get(subject) ?? []
      const share = shareOf(list)
      const memory = median(list.map(({ mebibytes }) => mebibytes))?.toFixed(1)
      const ratio = (ours / share).toFixed(2)
      const words = [`${share.toFixed(3)} % of a core`, `${memory} MiB`, calls.get(subject.name)]
      const times = `perf-sysstat uses ${ratio} times as much of a core`
      print(`  ${subject.name.padEnd(13)} ${words.join(', ')}; ${times}`)
    }
    compareTogether(new Map(subjects.map((one) => [one.name, shareOf(costs.get(one))])))
    await benchStart(pod, subjects)
  } finally {
    pod.end()
  }
}

/** Compares the metrics that users combine with pidstat, and vitals with all of these. */
function compareTogether(shares: ReadonlyMap<string, number>): void {
  const share = (name: string) => shares.get(name) ?? Number.NaN
  const three = THREE.map(share).reduce((sum, each) => sum + each)
  const times = (part: number, of: number) => `${(part / of).toFixed(2)} times as much`
  const names = THREE.join(' and ')
  print(`  ${names} together use ${times(three, share('pidstat'))} as pidstat`)
  const vitals = share('vitals')
  print(`  vitals uses ${times(vitals, share('pidstat'))} as pidstat,`)
  print(`    and ${times(vitals, three)} as ${names} together`)
}

/** Measures the time from the execution of vitals to its first row of a process. */
async function benchStart(pod: Pod, subjects: readonly Subject[]): Promise<void> {
  const vitals = subjects.find(({ name }) => name === 'vitals')
  if (vitals === undefined) return
  const times: number[] = []
  for (let start = 0; start < STARTS; start += 1) times.push(await firstSampleOf(pod, vitals))
  const milliseconds = median(times)?.toFixed(0)
  print(`  vitals takes its first sample ${milliseconds} ms after exec, median of ${STARTS} starts`)
}

/**
 * Returns the milliseconds from the execution of an observer to the time stamp of its first row.
 * The shell prints its time just before it executes the observer.
 */
async function firstSampleOf(pod: Pod, { name, argv, env }: Subject): Promise<number> {
  const shell = ['sh', '-c', 'date +%s%3N; exec "$@"', 'sh']
  const running = await pod.run(name, [...shell, ...argv], env)
  for (;;) {
    const [began] = /^\d+$/m.exec(running.log()) ?? []
    const [, first] = /^\{"time":"([^"]*)","section":"process"/m.exec(running.log()) ?? []
    if (began !== undefined && first !== undefined) {
      await end(running)
      return Date.parse(first) - Number(began)
    }
    await sleep(10)
  }
}

function shareOf(costs: readonly Cost[] = []): number {
  return median(costs.map(({ share }) => share)) ?? Number.NaN
}

/** Measures the cost of a program in one round. */
async function costOf(pod: Pod, { name, argv, env }: Subject): Promise<Cost> {
  const running = await pod.run(name.replaceAll(' ', '-'), argv, env)
  await sleep(BEGINNING * 1000)
  const before = cpuOf(running.pid)
  const began = performance.now()
  await sleep(SECONDS * 1000)
  const share = (cpuOf(running.pid) - before) / 1e6 / (performance.now() - began)
  const [, kibibytes] = /VmRSS:\s+(\d+)/.exec(statusOf(running.pid)) ?? []
  await end(running)
  return { share: share * 100, mebibytes: Number(kibibytes) / 1024 }
}

/**
 * Counts the system calls per second of each program with strace. This is a separate run, because
 * strace slows the program down.
 */
async function callsOf(
  pod: Pod,
  subjects: readonly Subject[],
): Promise<ReadonlyMap<string, string>> {
  const calls = new Map<string, string>()
  const strace = onPath('strace')
  for (const { name, argv, env } of subjects) {
    if (strace === 'strace') {
      calls.set(name, 'system calls not counted without strace')
      continue
    }
    const running = await pod.run(name.replaceAll(' ', '-'), argv, env)
    await sleep(BEGINNING * 1000)
    const words = [`${COUNTED}`, strace, '-c', '-U', 'calls,name', '-q', '-p', String(running.pid)]
    const text = await run('timeout', ['-s', 'INT', ...words])
    await end(running)
    const [, total] = /^\s*(\d+)\s+total$/m.exec(text) ?? []
    calls.set(name, `${Math.round(Number(total) / COUNTED)} system calls a second`)
  }
  return calls
}

/**
 * Returns the output of a program on both streams, with any exit code. The function must not wait
 * synchronously: the output of the observed programs must be read meanwhile, or they would block.
 */
async function run(program: string, words: readonly string[]): Promise<string> {
  const shell = ['-c', '"$@" 2>&1 || true', 'sh', program, ...words]
  const { stdout } = await promisify(execFile)('sh', shell)
  return stdout
}

async function end(running: Running): Promise<void> {
  running.signal('SIGKILL')
  await running.ended
}

/**
 * Returns the processor time of a process in nanoseconds (kernel
 * Documentation/scheduler/sched-stats.rst).
 */
function cpuOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0])
}

function statusOf(pid: number): string {
  return readFileSync(`/proc/${pid}/status`, 'utf8')
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

// LAMMPS is measured first, because the processes of the loads would also use the machine.
if (process.env.PAIRS !== '0') await benchLammps(print)
if (ROUNDS === 0) process.exit()
const folder = openFolder('ridealong-bench-')
const floor = join(folder, 'read-files')
execFileSync('gcc', ['-O2', '-o', floor, FLOOR_SOURCE])
for (const load of LOADS) await benchLoad(load, floor)

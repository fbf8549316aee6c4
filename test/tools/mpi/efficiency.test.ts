import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { listFactors, valueIn } from '../../../src/runs/efficiency/factor.ts'
import { readLog } from '../../../src/runs/log/read.ts'
import { reportModel } from '../../../src/runs/report/data.ts'
import { addEntry, newRun } from '../../../src/runs/report/gather.ts'
import { observer, until } from '../../observers/pod.ts'
import { makeCgroup, withCgroups } from '../../observers/pressure/cgroup.ts'
import { BUILT_IN_ROWS } from '../../src/runs/log/built-in.ts'
import { CONTAINER } from '../watched-pod.ts'
import { LIBRARIES, type Library, mpirun, mpiTests, programsFor } from './programs.ts'
import { tracedPod } from './traced-pod.ts'

// The factors of the efficiency of real programs, which compute, sleep in MPI, are uneven and share
// processors, are those that the programs measure themselves. So the expected values contain what
// other programs of the machine do to them.

const options = { ...withCgroups(mpiTests(), 'cpu'), timeout: 600_000 }

const NAMES = ['efficiency', 'load-balance', 'communication', 'platform'] as const

/** The greatest distance of a factor from the value that a program was made for. */
const DISTANCE = 0.05

/**
 * Returns the seconds that the hypervisor has taken from the processors, those of the worst one. In
 * such a time, a process neither waits for a processor nor uses it (proc(5), steal).
 */
function stolenTime(): number {
  const lines = readFileSync('/proc/stat', 'utf8').matchAll(/^cpu\d+ (.*)$/gm)
  const stolen = [...lines].map(([, numbers = '']) => Number(numbers.split(' ')[7]))
  return Math.max(...stolen) / TICKS
}

/** The ticks of /proc/stat in a second, on all architectures (USER_HZ). */
const TICKS = 100

/** A program that computes and waits for its processes again and again; see programs/shares.c. */
interface Program {
  readonly kind: 'barrier' | 'exchange'
  readonly steps: number
  /** The CPU time of each process in a step, in milliseconds. */
  readonly computing: readonly number[]
  /** How long each process sleeps in MPI in a step, in milliseconds. */
  readonly sleeping: number
  /** Whether processes of Open MPI give up the processor while they poll. */
  readonly yields?: boolean
}

const PROGRAMS: readonly Program[] = [
  { kind: 'barrier', steps: 200, computing: [15, 15], sleeping: 0 },
  { kind: 'exchange', steps: 200, computing: [15, 8], sleeping: 0 },
  { kind: 'barrier', steps: 150, computing: [12, 12], sleeping: 6 },
  { kind: 'exchange', steps: 150, computing: [8, 14], sleeping: 5 },
  { kind: 'barrier', steps: 2500, computing: [1, 1], sleeping: 0 },
  { kind: 'exchange', steps: 1500, computing: [1, 2], sleeping: 0, yields: true },
  { kind: 'exchange', steps: 300, computing: [5, 5], sleeping: 3 },
  { kind: 'barrier', steps: 300, computing: [6, 4, 6, 2], sleeping: 3 },
]

/** Runs a program under mpi-trace and vitals. @param processors that of each process, as digits */
async function observe(t: Test, library: Library, program: Program, processors: string) {
  // The programs are built before the observers wait for them.
  const { shares } = programsFor(library)
  // Other programs of the machine delay the test less.
  const { enter } = makeCgroup(t, 'cpu', { 'cpu.shares': '262144' })
  const { watching, run, start } = await tracedPod(t)
  const vitals = await run('vitals', [observer('vitals')], CONTAINER)
  await until(vitals, /waiting for/)
  const { kind, steps, computing, sleeping, yields = false } = program
  const numbers = [steps, sleeping * 1000, processors, ...computing.map((one) => one * 1000)]
  const words = [shares, kind, ...numbers.map(String)]
  const command = mpirun(library, computing.length, ...words)
  const variables = ['env', `OMPI_MCA_mpi_yield_when_idle=${yields ? 1 : 0}`]
  const before = stolenTime()
  const app = await start(...variables, 'sh', '-c', `${enter}; exec "$@"`, 'sh', ...command)
  t.equal(await app.ended, 0, app.log())
  const stolen = stolenTime() - before
  await watching.ended
  await vitals.ended
  return { logs: [watching.log(), vitals.log()], output: app.log(), stolen }
}

/** Returns the factors that the report computes from the logs of a pod. */
function factorsOf(logs: readonly string[]): readonly number[] {
  const run = newRun(BUILT_IN_ROWS)
  for (const [index, log] of logs.entries()) {
    const place = { source: `hpc/app/${index}`, namespace: 'hpc', pod: 'app', pod_index: '0' }
    for (const entry of readLog(log, place, BUILT_IN_ROWS)) addEntry(run, entry)
  }
  const { root } = reportModel(run, 'auto').efficiency
  // Not every kernel counts the time for which storage was waited for. The programs use none.
  const factors = listFactors(root).filter(({ name }) => name !== 'storage')
  const missing = factors.flatMap((one) => one.missing ?? [])
  if (missing.length > 0) throw new Error(missing.join('; '))
  return NAMES.map((name) => valueIn(root, name) ?? Number.NaN)
}

/** What a process measures itself, in seconds; see programs/shares.c. */
interface Measured {
  readonly elapsed: number
  readonly useful: number
  readonly steps: number
  readonly ending: number
}

/** Returns the factors that a program was made for, from what its processes print. */
function givenFactors(processes: readonly Measured[]): readonly number[] {
  const of = (name: keyof Measured) => processes.map((one) => one[name])
  const elapsed = Math.max(...of('elapsed'))
  const undelayed = Math.max(...of('steps')) + Math.min(...of('ending'))
  const most = Math.max(...of('useful'))
  const mean = of('useful').reduce((sum, one) => sum + one, 0) / processes.length
  return [mean / elapsed, mean / most, most / undelayed, undelayed / elapsed]
}

function distance(some: readonly number[], others: readonly number[]): number {
  return Math.max(...some.map((value, at) => Math.abs(value - (others[at] ?? Number.NaN))))
}

const shown = (values: readonly number[]) => values.map((value) => value.toFixed(2)).join(' ')

for (const [index, program] of PROGRAMS.entries()) {
  const library = LIBRARIES[index % LIBRARIES.length] ?? 'mpich'
  const { kind, computing, sleeping } = program
  const name = `${library}, ${kind}: ${computing} ms, asleep in MPI for ${sleeping} ms`
  t.test(`the factors are those that the program measures: ${name}`, options, async (t) => {
    const places = computing.length === 2 ? ['01', '00'] : ['0011', '0000']
    const found: (readonly number[])[] = []
    let allowed = DISTANCE
    for (const processors of places) {
      const { logs, output, stolen } = await observe(t, library, program, processors)
      const processes = output
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Measured)
      const [factors, given] = [factorsOf(logs), givenFactors(processes)]
      const part = stolen / Math.max(...processes.map(({ elapsed }) => elapsed))
      const text = `on processors ${processors}: ${shown(factors)}, given ${shown(given)}`
      t.ok(distance(factors, given) <= DISTANCE + part, `${text}, stolen ${part.toFixed(3)}`)
      allowed += part
      found.push(factors.slice(0, 3))
    }
    const [[, ...more] = [], [, ...fewer] = []] = found
    t.ok(distance(more, fewer) <= allowed, 'fewer processors change the platform only')
  })
}

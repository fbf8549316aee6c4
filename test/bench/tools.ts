/**
 * Measures how much a tool that is loaded into LAMMPS lengthens its loop: `npm run bench:tools`.
 * Runs with the tool and without it alternate. The measurement needs Linux, root, and the packages
 * that the tests of the tools need. PAIRS and STEPS set the number of pairs and of steps in a run.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { availableParallelism, loadavg } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { median } from '../../src/lib/statistics.ts'
import { openFolder } from '../observers/pod.ts'
import { profileTests, tool } from '../observers/profile/tool.ts'
import { MPI_ENV, mpirun, mpiTests, programsFor, recording } from '../tools/mpi/programs.ts'
import { medianInterval } from './median-interval.ts'

const INPUT = fileURLToPath(new URL('../cluster/applications/lammps/in.lj', import.meta.url))
const PAIRS = Number(process.env.PAIRS ?? 20)
const STEPS = Number(process.env.STEPS ?? 300)
const RANKS = availableParallelism()
const LAMMPS = ['lmp', '-in', INPUT, '-log', 'none', '-var', 'steps', `${STEPS}`]

/** A tool, and the command whose loop is measured. */
interface Subject {
  readonly title: string
  readonly skip: false | string
  readonly command: readonly string[]
  /** Returns the variables that load the tool, which writes to a folder. */
  readonly load: (results: string) => Readonly<Record<string, string>>
}

const SUBJECTS: readonly Subject[] = [
  {
    title: 'cpu-profile with 100 samples per second, one process',
    skip: profileTests().skip,
    command: LAMMPS,
    load: (results) => ({
      LD_PRELOAD: join(tool().source, 'loader.so'),
      CPUPROFILE: join(results, 'cpu'),
      CPUPROFILE_FREQUENCY: '100',
    }),
  },
  {
    title: `mpi-trace, ${RANKS} ranks of Open MPI`,
    skip: mpiTests().skip,
    command: mpirun('openmpi', RANKS, ...LAMMPS),
    load: (results) => recording(programsFor('openmpi'), results),
  },
]

/** The two orders of the runs in a pair. Gradual changes of the machine affect both halves. */
const TURNS = [
  [false, true, true, false],
  [true, false, false, true],
]

const print = (line: string) => process.stdout.write(`${line}\n`)

/** Runs LAMMPS, and returns the time of its loop in seconds. */
function loopTime(command: readonly string[], env: Readonly<Record<string, string>>): number {
  const [program = '', ...words] = command
  const output = execFileSync(program, words, {
    encoding: 'utf8',
    env: { ...MPI_ENV, OMP_NUM_THREADS: '1', ...env },
  })
  const [, seconds] = /Loop time of ([\d.]+)/.exec(output) ?? []
  if (seconds === undefined) throw new Error(`LAMMPS printed no loop time:\n${output}`)
  return Number(seconds)
}

const percentOf = (ratio: number) => `${((ratio - 1) * 100).toFixed(2)} %`

/** Runs one pair, prints it, and returns the time with the tool in proportion to that without. */
function ratioOf(pair: number, measure: (isLoaded: boolean) => number): number {
  const runs = (TURNS[pair % TURNS.length] ?? []).map((isLoaded) => {
    return { isLoaded, seconds: measure(isLoaded) }
  })
  const sumOf = (half: boolean) =>
    runs.reduce((sum, { isLoaded, seconds }) => (isLoaded === half ? sum + seconds : sum), 0)
  const [without, loaded] = [sumOf(false), sumOf(true)]
  print(`  ${without.toFixed(2)} s, ${loaded.toFixed(2)} s, ${percentOf(loaded / without)}`)
  return loaded / without
}

function bench({ title, command, load }: Subject, results: string): void {
  mkdirSync(results)
  const loaded = load(results)
  const measure = (isLoaded: boolean) => loopTime(command, isLoaded ? loaded : {})
  const ratios = Array.from({ length: PAIRS }, (_, pair) => ratioOf(pair, measure))
  const limits = medianInterval(ratios)?.map(percentOf).join(' to ')
  const middle = percentOf(median(ratios) ?? Number.NaN)
  print(`${title}: median ${middle}, 95 % confidence interval ${limits ?? 'needs more pairs'}`)
  print(`  ${readdirSync(results).length} files were written`)
}

const [busy = 0] = loadavg()
if (busy > 1)
  print(`other programs use this machine (load ${busy.toFixed(1)}) and affect the result`)
const folder = openFolder('ridealong-bench-')
try {
  for (const [index, subject] of SUBJECTS.entries()) {
    print(`${subject.title}: the loop of LAMMPS without and with the tool, ${STEPS} steps:`)
    if (subject.skip === false) bench(subject, join(folder, String(index)))
    else print(`  not measured: ${subject.skip}`)
  }
} finally {
  rmSync(folder, { recursive: true })
}

import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openFolder } from '../../observers/pod.ts'
import { DESCRIBED } from './described.ts'
import {
  LIBRARIES,
  type Library,
  libraryOf,
  mpirun,
  mpiTests,
  programsFor,
  recording,
  run,
} from './programs.ts'
import { readTraces, sumOf } from './trace-file.ts'

const options = mpiTests()

/** The functions that the MPICH of Debian has, but reports as not supported. */
const UNSUPPORTED = ['Comm_spawn', 'Comm_spawn_multiple', 'Comm_accept', 'Comm_connect']

/** The calls and bytes of a function in one process, as the program counts them. */
interface Counted {
  readonly rank: number
  readonly name: string
  readonly calls: number
  readonly bytes: number
}

/** Runs the program bytes.c, and returns what it has counted and what was recorded. */
async function count(t: Test, library: Library) {
  const programs = programsFor(library)
  const results = openFolder('ridealong-mpi-results-')
  const spawn = library === 'openmpi' ? ['spawn'] : []
  const words = mpirun(library, 3, programs.bytes, join(results, 'data'), ...spawn)
  const { code, output, errors } = await run(words, recording(programs, results))
  t.equal(code, 0, errors)
  const counted = output
    .trim()
    .split('\n')
    .map((line): Counted => {
      const [rank, name = '', calls, bytes] = line.split(' ')
      return { rank: Number(rank), name, calls: Number(calls), bytes: Number(bytes) }
    })
  return { counted, traces: readTraces(results).filter(({ size }) => size === 3) }
}

/** Returns the functions that the recorder describes and the library of a program defines. */
function namesOf(program: string): readonly string[] {
  const words = ['--dynamic', '--defined-only', libraryOf(program)]
  const table = execFileSync('nm', words, { encoding: 'utf8' })
  const defined = new Set(table.match(/(?<= )MPI_\w+$/gm))
  return DESCRIBED.map(({ name }) => name).filter((name) => defined.has(`MPI_${name}`))
}

for (const library of LIBRARIES) {
  t.test(`${library}: each call has the bytes that the process sends`, options, async (t) => {
    const { counted, traces } = await count(t, library)
    t.equal(traces.length, 3)
    for (const { rank, name, calls, bytes } of counted) {
      const trace = traces[rank]
      const recorded = trace && [sumOf(trace, name, 'calls'), sumOf(trace, name, 'bytes')]
      t.strictSame(recorded, [calls, bytes], `the calls and bytes of MPI_${name} of rank ${rank}`)
    }
    const whole = (rank: number) => counted.filter((one) => one.rank === rank)
    t.strictSame(
      traces.map(({ rows }) => rows.reduce((sum, row) => sum + row.bytes, 0)),
      [0, 1, 2].map((rank) => whole(rank).reduce((sum, { bytes }) => sum + bytes, 0)),
    )
    const called = new Set(counted.map(({ name }) => name))
    const expected = namesOf(programsFor(library).bytes)
    const missing = expected.filter((name) => {
      return !called.has(name) && !(library === 'mpich' && UNSUPPORTED.includes(name))
    })
    t.strictSame(missing, [], 'the program calls every function that the recorder describes')
    t.ok(expected.length > (library === 'mpich' ? 300 : 160))
  })
}

import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openFolder } from '../../observers/pod.ts'
import { DESCRIBED } from './described.ts'
import {
  buildCheckedRecorder,
  LIBRARIES,
  libraryOf,
  mpirun,
  mpiTests,
  programsFor,
  run,
} from './programs.ts'
import { readTraces, sumOf, type TraceFile } from './trace-file.ts'

const options = mpiTests()

/** The functions that the MPICH of Debian has, but reports as not supported. */
const UNSUPPORTED = ['Comm_spawn', 'Comm_spawn_multiple', 'Comm_accept', 'Comm_connect']

/**
 * The calls of each rank of the program handles.c whose bytes are not counted: those that start
 * requests made with PMPI_* or make their partitions ready, and that whose datatype is freed.
 */
const UNCOUNTED = { openmpi: [11, 10], mpich: [13, 12] } as const

/** The calls and bytes of a function in one process, as the program counts them. */
interface Counted {
  readonly rank: number
  readonly name: string
  readonly calls: number
  readonly bytes: number
}

/** Runs a program, and returns what it has counted and what was recorded. */
async function count(t: Test, words: readonly string[], preloaded: string, size: number) {
  const results = openFolder('ridealong-mpi-results-')
  const [launcher = '', flag = '', processes = '', ...program] = words
  const preload = ['env', `LD_PRELOAD=${preloaded}`]
  const env = { RIDEALONG_MPI_TRACE: results, ASAN_OPTIONS: 'detect_leaks=0' }
  const ended = await run([launcher, flag, processes, ...preload, ...program], env)
  t.equal(ended.code, 0, ended.errors)
  t.notMatch(ended.errors, /AddressSanitizer/)
  const counted = ended.output
    .trim()
    .split('\n')
    .map((line): Counted => {
      const [rank, name = '', calls, bytes] = line.split(' ')
      return { rank: Number(rank), name, calls: Number(calls), bytes: Number(bytes) }
    })
  return { counted, traces: readTraces(results).filter((trace) => trace.size === size) }
}

/** Returns the functions that the recorder describes and the library of a program defines. */
function namesOf(program: string): readonly string[] {
  const words = ['--dynamic', '--defined-only', libraryOf(program)]
  const table = execFileSync('nm', words, { encoding: 'utf8' })
  const defined = new Set(table.match(/(?<= )MPI_\w+$/gm))
  return DESCRIBED.map(({ name }) => name).filter((name) => defined.has(`MPI_${name}`))
}

/** Checks that each call that a program has counted is recorded with its bytes, and no other. */
function check(t: Test, counted: readonly Counted[], traces: readonly TraceFile[]) {
  for (const { rank, name, calls, bytes } of counted) {
    const trace = traces[rank]
    const recorded = trace && [sumOf(trace, name, 'calls'), sumOf(trace, name, 'bytes')]
    t.strictSame(recorded, [calls, bytes], `the calls and bytes of MPI_${name} of rank ${rank}`)
  }
  t.strictSame(
    traces.map(({ rows }) => rows.reduce((sum, row) => sum + row.bytes, 0)),
    traces.map(({ rank }) => {
      const own = counted.filter((one) => one.rank === rank)
      return own.reduce((sum, { bytes }) => sum + bytes, 0)
    }),
  )
}

for (const library of LIBRARIES) {
  const spawn = library === 'openmpi' ? ['spawn'] : []

  t.test(`${library}: each call has the bytes that the process sends`, options, async (t) => {
    const { bytes, folder, recorder } = programsFor(library)
    const words = mpirun(library, 3, bytes, join(folder, 'data'), ...spawn)
    const expected = namesOf(bytes)
    t.ok(expected.length > (library === 'mpich' ? 300 : 160))
    for (const preloaded of [recorder, buildCheckedRecorder(folder)]) {
      const { counted, traces } = await count(t, words, preloaded, 3)
      t.equal(traces.length, 3)
      check(t, counted, traces)
      const called = new Set(counted.map(({ name }) => name))
      const missing = expected.filter((name) => {
        return !called.has(name) && !(library === 'mpich' && UNSUPPORTED.includes(name))
      })
      t.strictSame(missing, [], 'the program calls every function that the recorder describes')
    }
  })

  t.test(`${library}: a handle that is got again is another object`, options, async (t) => {
    const { folder, handles, recorder } = programsFor(library)
    const words = mpirun(library, 2, handles, ...spawn)
    for (const preloaded of [recorder, buildCheckedRecorder(folder)]) {
      const { counted, traces } = await count(t, words, preloaded, 2)
      t.equal(traces.length, 2)
      check(t, counted, traces)
      for (const trace of traces) {
        // The program completes requests that it makes itself only with MPI_Test.
        const tests = trace.rows.filter(({ name }) => name === 'Test')
        t.strictSame([...new Set(tests.map(({ peer }) => peer))], [-1])
        t.equal(trace.uncounted, UNCOUNTED[library][trace.rank])
      }
    }
  })
}

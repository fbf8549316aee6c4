import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openFolder } from '../../observers/pod.ts'
import { DESCRIBED } from './described.ts'
import {
  LIBRARIES,
  mpirun,
  mpiTests,
  type Programs,
  programsFor,
  recording,
  run,
  SOURCES,
} from './programs.ts'
import { readTraces, sumOf } from './trace-file.ts'

const options = mpiTests()

t.test('the recorder defines no name that a program could find', options, async (t) => {
  const { recorder } = programsFor('mpich')
  const words = ['--dynamic', '--defined-only', recorder]
  t.equal(execFileSync('nm', words, { encoding: 'utf8' }), '')
})

/** Builds the program probe.c, which looks for all functions that the recorder describes. */
async function buildProbe({ folder }: Programs, compiler: string, ...flags: readonly string[]) {
  const others = ['PMPI_Init', 'MPI_Session_init', 'MPI_Abi_get_version', 'MPIX_Allreduce_init']
  const names = DESCRIBED.flatMap(({ name, fortran }) => {
    return [`MPI_${name}`, ...(fortran === null ? [] : [`mpi_${fortran}_`, `mpi_${fortran}_f08_`])]
  })
  const all = [...names, ...others].map((name) => `NAME(${name})\n`)
  writeFileSync(join(folder, 'probe-names.h'), all.join(''))
  const path = join(folder, `probe-${compiler}`)
  const words = [compiler, '-w', `-I${folder}`, join(SOURCES, 'probe.c'), '-o', path, '-ldl']
  const { code, errors } = await run([...words, ...flags])
  if (code !== 0) throw new Error(errors)
  return path
}

for (const library of [...LIBRARIES, null]) {
  t.test(`a program that looks for functions finds those of ${library}`, options, async (t) => {
    const programs = programsFor(library ?? 'mpich')
    const compiler = library === null ? 'gcc' : `mpicc.${library}`
    const flags = library === null ? [] : ['-DWITH_MPI']
    const results = openFolder('ridealong-mpi-results-')
    const probe = await buildProbe(programs, compiler, ...flags)
    const plain = await run([probe])
    t.strictSame(await run([probe], recording(programs, results)), plain)
    t.equal(plain.code, 0)
    const found = new Set(plain.output.match(/^\S+(?= 1 1 1 1$)/gm))
    t.equal(found.has('MPI_Send'), library !== null)
    t.equal(found.has('MPI_Allreduce_c'), library === 'mpich')
    t.equal(readTraces(results).length, library === null ? 0 : 1)
  })
}

for (const library of LIBRARIES) {
  t.test(`${library}: wrong arguments reach the MPI library`, options, async (t) => {
    const programs = programsFor(library)
    const results = openFolder('ridealong-mpi-results-')
    for (const only of ['', 'wait', 'free', 'disconnect', 'window']) {
      const plain = await run([programs.null, only])
      const recorded = await run([programs.null, only], recording(programs, results))
      t.strictSame([recorded.code, recorded.output], [plain.code, plain.output], only)
      if (only === '') t.match(plain, { code: 0, output: /^[1-9]\d* MPI_Waitall\(3, NULL/m })
    }
    t.ok(readTraces(results).length > 0)
  })

  for (const [mode, calls, times] of [
    ['throw', { Barrier: 100, Sendrecv: 11 }, 1],
    ['jump', { Barrier: 100, Sendrecv: 11 }, 1],
    ['context', { Barrier: 100, Sendrecv: 11 }, 2],
    // The calls of MPI in a reduction belong to MPI_Allreduce.
    ['nested', { Allreduce: 10, Barrier: 100, Sendrecv: 10 }, 10],
    ['thread', { Barrier: 200, Sendrecv: 58 }, 8],
  ] as const) {
    // MPICH ends a program that leaves a call if it allows several threads.
    if (library === 'mpich' && mode === 'thread') continue
    t.test(`${library}: calls that are left do not end the record: ${mode}`, options, async (t) => {
      const programs = programsFor(library)
      const results = openFolder('ridealong-mpi-results-')
      const words = mpirun(library, 2, programs.left, mode)
      const { code, output, errors } = await run(words, recording(programs, results))
      t.strictSame([code, output], [0, `left ${times}\n`.repeat(2)], errors)
      const traces = readTraces(results)
      t.strictSame(
        traces.map((trace) => [
          trace.state,
          ...Object.keys(calls).map((name) => sumOf(trace, name, 'calls')),
        ]),
        [0, 1].map(() => [1, ...Object.values(calls)]),
      )
    })
  }

  t.test(
    `${library}: a preloaded library that observes MPI is recorded around`,
    options,
    async (t) => {
      const programs = programsFor(library)
      const words = mpirun(library, 2, programs.work, 'calls')
      for (const tool of programs.tools) {
        const plain = await run(words, { LD_PRELOAD: tool })
        for (const order of [
          [tool, programs.recorder],
          [programs.recorder, tool],
        ]) {
          const results = openFolder('ridealong-mpi-results-')
          const env = { ...recording(programs, results), LD_PRELOAD: order.join(':') }
          const { code, output } = await run(words, env)
          t.equal(code, 0)
          const counts = (text: string) => text.match(/^tool \d+$/gm)?.sort()
          t.strictSame(counts(output), counts(plain.output))
          t.equal(counts(output)?.length, 2)
          const calls = readTraces(results).map((trace) => [
            trace.state,
            sumOf(trace, 'Barrier', 'calls'),
            sumOf(trace, 'Allreduce', 'calls'),
          ])
          t.strictSame(
            calls,
            [0, 1].map(() => [1, 20, 20]),
          )
        }
      }
    },
  )
}

t.test('a program that finds MPI with dlsym is recorded', options, async (t) => {
  const programs = programsFor('openmpi')
  const results = openFolder('ridealong-mpi-results-')
  const words = mpirun('openmpi', 2, ...programs.lookup)
  const { code, output } = await run(words, recording(programs, results))
  t.strictSame([code, output], [0, '2\n2\n'])
  const calls = readTraces(results).map((trace) => sumOf(trace, 'Allreduce', 'calls'))
  t.strictSame(calls, [100, 100])
})

for (const library of LIBRARIES) {
  t.test(`${library}: another root directory does not end the record`, options, async (t) => {
    const programs = programsFor(library)
    const results = openFolder('ridealong-mpi-results-')
    const words = [programs.chroot, 'root', openFolder('ridealong-mpi-root-')]
    t.equal((await run(words, recording(programs, results))).code, 0)
    const [trace] = readTraces(results)
    t.strictSame([trace?.state, trace?.calls], [1, 301])
  })

  t.test(`${library}: no file of the program is written to`, options, async (t) => {
    const programs = programsFor(library)
    const results = openFolder('ridealong-mpi-results-')
    const closedFile = join(openFolder('ridealong-mpi-own-'), 'file')
    const ended = await run([programs.chroot, 'close', closedFile], recording(programs, results))
    t.equal(ended.code, 0)
    // A thread of Open MPI can still use the number of its eventfd, which the program has closed.
    const written = readFileSync(closedFile, 'latin1').replaceAll('\x01\0\0\0\0\0\0\0', '')
    t.equal(written, '')
    t.ok((readTraces(results)[0]?.calls ?? 0) > 0, 'the record goes on')
  })

  for (const mode of ['range', 'from', 'over', 'exec'] as const)
    t.test(`${library}: a program may use all numbers of files: ${mode}`, options, async (t) => {
      const programs = programsFor(library)
      const results = openFolder('ridealong-mpi-results-')
      const file = join(openFolder('ridealong-mpi-own-'), 'file')
      const words = [programs.chroot, mode, file]
      const ended = await run(words, recording(programs, results))
      t.equal(ended.code, mode === 'exec' ? 5 : 0)
      t.equal((await run(words)).code, ended.code)
      if (mode === 'over') t.equal(readFileSync(file, 'utf8'), '')
      t.strictSame(
        readdirSync(results).filter((name) => !/^mpi_\d+$/.test(name)),
        [],
      )
      t.ok((readTraces(results)[0]?.calls ?? 0) > 100, 'the record goes on')
    })
}

import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openFolder } from '../../observers/pod.ts'
import { onPath } from '../../observers/prerequisites.ts'
import { LIBRARIES, mpirun, mpiTests, programsFor, recording, run } from './programs.ts'
import { readTraces, sumOf } from './trace-file.ts'

const options = mpiTests()
const PLAIN = ['', '6'] as const

t.test('a program without MPI keeps its exit code and its output', options, async (t) => {
  const programs = programsFor('openmpi')
  const results = openFolder('ridealong-mpi-results-')
  const env = recording(programs, results)
  const hello = 'printf("hello\\n"); return 3;'
  const source = join(programs.folder, 'hello.c')
  writeFileSync(source, `#include <stdio.h>\nint main(void) { ${hello} }\n`)
  for (const [compiler, ...flags] of [['gcc'], ['gcc', '-static'], ['musl-gcc']] as const) {
    const built = await run([compiler, source, '-o', join(programs.folder, 'hello'), ...flags])
    t.equal(built.code, 0, built.errors)
    const ended = await run([join(programs.folder, 'hello')], env)
    t.strictSame(ended, { code: 3, output: 'hello\n', errors: '' }, [compiler, ...flags].join(' '))
  }
  const shell = await run(['sh', '-c', 'ls / >/dev/null; true; exit 7'], env)
  t.strictSame(shell, { code: 7, output: '', errors: '' })
  const python = await run([onPath('python3'), '-c', 'import ctypes; raise SystemExit(5)'], env)
  t.strictSame(python, { code: 5, output: '', errors: '' })
  t.strictSame(readdirSync(results), [], 'only programs that call MPI_Init have files')
})

for (const library of LIBRARIES) {
  t.test(`${library}: a program keeps its exit code if it cannot write`, options, async (t) => {
    const programs = programsFor(library)
    const results = openFolder('ridealong-mpi-results-')
    const full = join(results, 'full')
    mkdirSync(full)
    const crowded = join(results, 'crowded')
    mkdirSync(crowded)
    for (let number = 0; number < 128; number++) writeFileSync(join(crowded, String(number)), '')
    const words = [programs.work, ...PLAIN]
    const tiny = 'mount -t tmpfs -o size=8k tmpfs "$0" && exec "$@"'
    const readOnly = 'mount -t tmpfs -o ro tmpfs "$0" && exec "$@"'
    for (const [why, folder, argv] of [
      ['the folder is missing', join(results, 'missing'), words],
      ['the folder has too many files', crowded, words],
      ['the path is not absolute', 'relative', words],
      ['the volume is full', full, ['unshare', '--mount', 'sh', '-c', tiny, full, ...words]],
      [
        'the folder is read-only',
        full,
        ['unshare', '--mount', 'sh', '-c', readOnly, full, ...words],
      ],
      ['files have a size limit', full, [programs.work, 'limit', '6']],
    ] as const) {
      const { code, errors } = await run(argv, recording(programs, folder))
      t.equal(code, 6, `${why}: ${errors}`)
    }
    t.equal(readdirSync(crowded).length, 128)
  })

  t.test(`${library}: ranks without the recorder do not stop the job`, options, async (t) => {
    const programs = programsFor(library)
    const results = openFolder('ridealong-mpi-results-')
    const { LD_PRELOAD, ...env } = recording(programs, results)
    const own = ['env', `LD_PRELOAD=${LD_PRELOAD}`, programs.work, 'calls']
    const words = [...mpirun(library, 1, ...own), ':', '-n', '1', programs.work, 'calls']
    const { code } = await run(words, env)
    t.equal(code, 0)
    const traces = readTraces(results)
    t.strictSame(
      traces.map(({ rank, size }) => [rank, size]),
      [[0, 2]],
    )
    t.strictSame(
      traces.map((trace) => sumOf(trace, 'Allreduce', 'calls')),
      [20],
    )
  })

  t.test(`${library}: mpirun is preloaded too, and keeps its exit code`, options, async (t) => {
    const programs = programsFor(library)
    const results = openFolder('ridealong-mpi-results-')
    const words = mpirun(library, 1, programs.work, ...PLAIN)
    const { code } = await run(words, recording(programs, results))
    t.equal(code, 6)
    t.equal(readTraces(results).length, 1)
  })

  t.test(`${library}: a process that is killed leaves its calls until then`, options, async (t) => {
    const programs = programsFor(library)
    const results = openFolder('ridealong-mpi-results-')
    const { code } = await run([programs.work, 'kill'], recording(programs, results))
    t.equal(code, 'SIGKILL')
    const [trace] = readTraces(results)
    t.equal(trace?.state, 0)
    // The program kills itself after 2.5 seconds, and the recorder writes each second, or later if
    // no processor is free.
    t.ok((trace?.seconds ?? 0) >= 0.5, `the file covers ${trace?.seconds} seconds`)
    t.ok((trace?.calls ?? 0) > 0)
  })

  t.test(`${library}: exit and MPI_Abort leave all calls`, options, async (t) => {
    const programs = programsFor(library)
    for (const [mode, code, state] of [
      ['exit', 9, 2],
      ['abort', 4, 3],
    ] as const) {
      const results = openFolder('ridealong-mpi-results-')
      const ended = await run([programs.work, mode], recording(programs, results))
      const without = await run([programs.work, mode])
      t.equal(ended.code, without.code, mode)
      if (mode === 'exit') t.equal(ended.code, code)
      const [trace] = readTraces(results)
      t.equal(trace?.state, state)
      t.equal(trace && sumOf(trace, 'Barrier', 'calls'), 1)
    }
  })

  t.test(`${library}: a forked child does not write the file of its parent`, options, async (t) => {
    const programs = programsFor(library)
    const results = openFolder('ridealong-mpi-results-')
    const { code } = await run([programs.work, 'fork'], recording(programs, results))
    t.equal(code, 0)
    const [trace, ...others] = readTraces(results)
    t.equal(trace?.state, 1)
    t.equal(trace && sumOf(trace, 'Barrier', 'calls'), 11)
    t.strictSame(others, [])
    rmSync(results, { recursive: true })
    mkdirSync(results)
    await run([programs.work, 'fork', 'kill'], recording(programs, results))
    t.equal(readTraces(results)[0]?.state, 0, 'the child has not written that it has exited')
  })
}

t.test('the file of an earlier process with the same id remains', options, async (t) => {
  const programs = programsFor('mpich')
  const results = openFolder('ridealong-mpi-results-')
  // Each process has id 2 of a process namespace of its own.
  const words = [
    'unshare',
    '--pid',
    '--fork',
    '--mount-proc',
    'sh',
    '-c',
    '"$@"; exit $?',
    'sh',
    programs.work,
  ]
  for (const name of [['mpi_2'], ['mpi_2', 'mpi_2.1']]) {
    const { code } = await run(words, recording(programs, results))
    t.equal(code, 0)
    t.strictSame(readdirSync(results).sort(), name)
  }
})

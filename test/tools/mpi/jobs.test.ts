import { execFileSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { openFolder } from '../../observers/pod.ts'
import { onPath } from '../../observers/prerequisites.ts'
import { environment, MPICH, WHEEL } from './environment.ts'
import { mpiTests, programsFor, recording, run, SOURCES } from './programs.ts'
import { type Communicator, readTraces } from './trace-file.ts'

const options = mpiTests()

/** MPI libraries that can start processes, as Debian's MPICH 4.0 cannot: the compiler, mpirun. */
const SUBJECTS = [
  ['openmpi', () => [onPath('mpicc.openmpi'), onPath('mpirun.openmpi')]],
  ['mpich', () => ['mpicc', 'mpirun'].map((name) => inWheel(name))],
] as const

const inWheel = (name: string) => join(environment('mpich', WHEEL, MPICH), 'bin', name)

for (const [library, find] of SUBJECTS) {
  t.test(
    `${library}: a communicator with members of several jobs has one name`,
    options,
    async (t) => {
      const [compiler = '', mpirun = ''] = find()
      const results = openFolder('ridealong-mpi-results-')
      const program = join(openFolder('ridealong-mpi-spawn-'), 'spawn')
      execFileSync(compiler, ['-w', join(SOURCES, 'spawn.c'), '-o', program])
      const env = {
        LD_LIBRARY_PATH: join(mpirun, '..', '..', 'lib'),
        HOME: tmpdir(),
        ...recording(programsFor('openmpi'), results),
      }
      const { output, errors } = await run([mpirun, '-n', '2', program], env)
      t.equal(output.match(/rank \d/g)?.length, 5, errors)
      const names = readTraces(results).map(({ communicators }) => communicators.map(nameOf))
      t.equal(names.length, 5)
      // The four processes that start the second job have more communicators than that job.
      const last = names.find(({ length }) => length === 4)
      const others = names.filter((own) => own !== last)
      const expected = last?.slice(1)
      for (const own of others)
        t.strictSame(own.slice(-3), expected, 'between the jobs, of all processes, its duplicate')
      const pairs = Map.groupBy(others, (own) => own[5])
      t.equal(pairs.size, 2, 'the members of each pair have the same name')
      t.ok([...pairs.values()].every((own) => own.length === 2))
      for (const [one, other] of pairs.values()) t.strictSame(one, other)
      const [first = []] = others
      for (const own of others) t.strictSame(own.slice(0, 5), first.slice(0, 5))
      t.equal(new Set(first).size, first.length, 'different communicators have different names')
    },
  )
}

function nameOf({ size, remoteSize, members, ordinal }: Communicator): string {
  return `${size + remoteSize}-${members >> 32n}-${ordinal}`
}

import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { mismatchesIn, noticesOf, rowsOf } from '../../observers/json-rows.ts'
import { openFolder, until } from '../../observers/pod.ts'
import { type Library, mpirun, mpiTests, programsFor } from './programs.ts'
import { NATIVE, tracedPod } from './traced-pod.ts'

const options = mpiTests()
const MAIN = fileURLToPath(new URL('../../../cli/main.ts', import.meta.url))

/** A finding of the report in JSON, as far as these tests read it. */
interface Finding {
  readonly rule: string
  readonly sentence: string
}

/** Returns the sentences of the findings about progress in a log. */
function findingsIn(log: string): readonly string[] {
  const path = join(openFolder('ridealong-stuck-'), 'mpi-trace.log')
  writeFileSync(path, log)
  const words = [MAIN, 'report', path, '--output', 'json']
  const output = execFileSync(process.execPath, words, { encoding: 'utf8' })
  const { findings } = JSON.parse(output) as { readonly findings: readonly Finding[] }
  return findings.filter(({ rule }) => rule === 'no-progress').map(({ sentence }) => sentence)
}

/** Runs stuck.c in several processes until its findings match, or for this many timepoints. */
async function runStuck(
  t: Test,
  library: Library,
  words: readonly string[],
  { count, timepoints }: { readonly count: number; readonly timepoints: number },
) {
  const { watching, start } = await tracedPod(t, NATIVE)
  const { stuck } = programsFor(library)
  // mpirun ends the job if a process that it has started is killed, but not if a child of it is.
  const shell = ['sh', '-c', '"$0" "$@"; exec sleep 1000']
  const app = await start(...mpirun(library, count, ...shell, stuck, ...words))
  const times = () => new Set(rowsOf(watching, 'open').map(({ time }) => time)).size
  await until(watching, () => times() >= timepoints)
  watching.signal('SIGTERM')
  t.equal(await watching.ended, 0)
  app.signal('SIGKILL')
  t.strictSame(mismatchesIn(watching, 'mpi-trace'), [])
  t.notMatch(noticesOf(watching).join('\n'), /open calls/)
  return findingsIn(watching.log())
}

const SINCE = '^Since \\d\\d:\\d\\d:\\d\\d, '
const ALLREDUCE = 'in MPI_Allreduce number 6 on MPI_COMM_WORLD\\.'
const LATE = `${SINCE}MPI ranks 0-1 wait ${ALLREDUCE} MPI rank 2 has not come: it `

/** The modes of stuck.c, with the processes, the timepoints and the finding of each. */
const STUCK = [
  ['sleep', 3, 15, `${LATE}sleeps in a system call\\.$`],
  ['stop', 3, 5, `${LATE}is stopped\\.$`],
  [
    'spin',
    2,
    70,
    'MPI rank 0 waits .* MPI rank 1 has not come: it computes for [\\d.]+ s; the longest',
  ],
  ['other', 3, 5, 'These calls do not match: all members'],
  ['early', 3, 5, 'MPI_Finalize'],
  ['missing', 2, 5, 'MPI_Recv for MPI rank 0.* This is a deadlock'],
  ['sends', 3, 5, 'MPI_Ssend for MPI rank .* This is a deadlock'],
  [
    'sub',
    4,
    15,
    'MPI_Barrier number 2 on the communicator 2-.* MPI rank 2 has not come: it sleeps',
  ],
] as const

for (const library of ['openmpi', 'mpich'] as const) {
  for (const [mode, count, timepoints, pattern] of STUCK) {
    // A minute for one of the libraries is enough.
    if (mode === 'spin' && library === 'mpich') continue
    t.test(`${library}: a job that stops has a finding: ${mode}`, options, async (t) => {
      const found = await runStuck(t, library, [mode], { count, timepoints })
      t.equal(found.length, 1)
      t.match(found[0], new RegExp(pattern))
    })
  }
}

t.test('mpich: a process that is killed is late', options, async (t) => {
  const found = await runStuck(t, 'mpich', ['kill'], { count: 3, timepoints: 8 })
  t.equal(found.length, 1)
  t.match(found[0], new RegExp(`${LATE}ended without MPI_Finalize\\.$`))
})

for (const [mode, count] of [
  ['uneven', 3],
  ['compute', 2],
  ['ring', 3],
  ['master', 3],
  ['root', 2],
  ['poll', 2],
] as const) {
  t.test(`openmpi: a job that is slow, but moves, has no finding: ${mode}`, options, async (t) => {
    const found = await runStuck(t, 'openmpi', [mode, '60'], { count, timepoints: 12 })
    t.strictSame(found, [])
  })
}

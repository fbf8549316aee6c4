import { readFileSync } from 'node:fs'
import t from 'tap'
import { assessRun } from '../../../../../src/runs/report/assess.ts'
import { liveTop } from '../../../../tools/mpi/live-top.ts'
import { readRecorded } from '../../report/recorded-run.ts'

/** Reads a log of test/logs/stuck. */
function readLog(name: string): string {
  return readFileSync(new URL(`../../../../logs/stuck/${name}.log`, import.meta.url), 'utf8')
}

/** Returns the sentences of the report about processes without progress. */
function findingsIn(text: string): readonly string[] {
  const log = { name: 'job-0.mpi-trace.log', pod: 'job-0', metric: 'mpi-trace', text }
  const { findings } = assessRun(readRecorded([log])).found
  return findings.filter(({ rule }) => rule === 'no-progress').map(({ sentence }) => sentence)
}

/** Returns what `top` says after each timepoint of a log. */
function saidAbout(text: string): readonly string[] {
  let read = ''
  const top = liveTop({ log: () => read })
  return text.split(/(?<=\n)(?=.*"section":"rank")/).flatMap((part) => {
    read += part
    return top.look()
  })
}

const ALL_WAIT = 'All processes of the job wait, and none leaves its call\\.'
const NO_MEMBERS = 'The rows do not have the members of windows\\.'
const LEFT = 'The rows do not have the arguments of the other members\\.'

/** The jobs of disagree.c, and what is true of them. */
const SENTENCES = {
  reduce:
    'MPI ranks 0-2 wait in MPI_Reduce number 2 on MPI_COMM_WORLD\\. The roots differ: MPI ' +
    'ranks 0-1 call MPI_Reduce with MPI rank 0 as root, MPI rank 2 with MPI rank 1 as root\\.',
  reordered:
    'MPI ranks 1-2 wait in MPI_Reduce number 1 on the communicator 3-\\w+-0, .* The roots ' +
    'differ: MPI rank 1 calls MPI_Reduce with MPI rank 2 as root, MPI rank 2 with MPI rank 1 ' +
    'as root\\.',
  gather:
    'MPI ranks 0 and 2 wait in MPI_Gather number 2 on MPI_COMM_WORLD, MPI rank 1 waits in ' +
    'MPI_Finalize number 3 on MPI_COMM_WORLD\\. The roots differ: MPI rank 0 calls MPI_Gather ' +
    'with MPI rank 0 as root, MPI rank 2 with MPI rank 1 as root\\.',
  stop:
    'MPI ranks 0-1 wait in MPI_Allreduce number 2 on MPI_COMM_WORLD\\. MPI rank 2 has come, ' +
    'but it is stopped in MPI_Allreduce\\.',
  'count-alltoallv':
    'MPI ranks 0-2 wait in MPI_Alltoallv number 2 on MPI_COMM_WORLD\\. All members of the ' +
    'communicator are in this call, and none leaves it\\. The functions are the same; the ' +
    'rows do not have counts, datatypes and operations\\.',
  'count-gatherv':
    'MPI ranks 1-2 wait in MPI_Finalize number 3 .*, MPI rank 0 waits in MPI_Gatherv number 2 ' +
    `.*have begun MPI_Gatherv, but MPI rank 0 does not leave it\\. ${LEFT}`,
  'fence-barrier':
    'MPI ranks 0-1 wait in MPI_Win_fence, MPI rank 2 waits in MPI_Barrier number 4 on ' +
    `MPI_COMM_WORLD\\. ${ALL_WAIT} MPI_Win_fence returns when all members of the window have ` +
    `called it\\. ${NO_MEMBERS}`,
  'fence-window': `MPI ranks 0-2 wait in MPI_Win_fence\\. ${ALL_WAIT} .*`,
  'wait-barrier':
    'MPI ranks 1-2 wait in MPI_Barrier number 4 on MPI_COMM_WORLD, MPI rank 0 waits in ' +
    `MPI_Win_wait\\. ${ALL_WAIT} .* have called MPI_Win_complete\\. ${NO_MEMBERS}`,
  'lock-two':
    'MPI ranks 0 and 2 wait in MPI_Win_lock, MPI rank 1 waits in MPI_Barrier number 4 on ' +
    `MPI_COMM_WORLD\\. ${ALL_WAIT} MPI_Win_lock returns when .* ${NO_MEMBERS}`,
} as const

for (const [name, sentence] of Object.entries(SENTENCES)) {
  const pattern = (beginning: string) => new RegExp(`^${beginning}, .*${sentence}$`)

  t.test(`a job that stops has a finding with the calls: ${name}`, async (t) => {
    const text = readLog(name)
    const found = findingsIn(text)
    t.equal(found.length, 1)
    t.match(found[0], pattern('Since the start|Since \\d+ s after the start'))
    const said = saidAbout(text)
    t.match(said.at(-1), pattern('For [\\d.]+ (s|min)( \\d+ s)?'))
  })

  t.test(`a job in which the processes agree has no finding: ${name}`, async (t) => {
    const text = readLog(`${name}-right`)
    t.match(text, /"state":"finalized"/)
    t.strictSame([...findingsIn(text), ...saidAbout(text)], [])
  })
}

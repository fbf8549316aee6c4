import t from 'tap'
import { groupByPod } from '../../../../../src/runs/evidence/run-evidence.ts'
import { parseEntry } from '../../../../../src/runs/log/parse.ts'
import { mpiEnd } from '../../../../../src/runs/metrics/mpi-trace/mpi-end.ts'
import { addEntry, newRun } from '../../../../../src/runs/report/gather.ts'
import { BUILT_IN_ROWS } from '../../log/built-in.ts'

// The rows are inputs, whose numbers a test chooses; no observer wrote them.

/** A process at a timepoint. It is in the collective call with the number `call`, or in none. */
interface At {
  /** Seconds since the first timepoint. */
  readonly at: number
  /** When it returned from MPI_Init, in the same seconds. */
  readonly began?: number
  readonly rank: number
  readonly pid?: number
  readonly size?: number
  readonly state?: 'running' | 'lost' | 'finalized'
  readonly call?: number
}

function rowsOf({ at, began = 0, rank, size = 3, state = 'running', call, ...one }: At) {
  const { pid = 100 + rank } = one
  const elapsed = at - began
  const time = new Date(Date.UTC(2026, 0, 1) + 1000 * at).toISOString()
  const place = {
    kind: 'process',
    source: 'hpc/job-0/mpi-trace',
    metric: 'mpi-trace',
    pod: 'job-0',
  }
  const process = { container: 'app', program: 'lmp', pid, mpi_rank: rank, mpi_size: size }
  const own = { ...place, ...process, timepoint: at, time, seconds: at, interval: null, job: null }
  const hasCall = call !== undefined
  const inCall = { call: hasCall ? 'MPI_Barrier' : null, communicator: 'world', number: call }
  return [
    { ...own, section: 'rank', mpi_library: 'MPICH 4.0.2', state, elapsed },
    {
      ...{ ...own, section: 'open', thread: pid, ...inCall, since: 1, elapsed },
      process_state: state === 'running' ? 'sleeping' : 'ended',
    },
  ]
}

/** Returns which processes ended first, in a sentence. */
function firstEnd(...processes: readonly At[]): string | null | undefined {
  const run = newRun(BUILT_IN_ROWS)
  for (const row of processes.flatMap(rowsOf)) {
    const entry = parseEntry(JSON.stringify(row), BUILT_IN_ROWS)
    if (entry !== undefined) addEntry(run, entry)
  }
  const end = mpiEnd(groupByPod(run.evidence, () => '0'))
  return end?.state === 'unfinished' ? end.first : undefined
}

const waiting = (rank: number, at: number): At => ({ at, rank, call: 7 })
const lost = (rank: number, at: number): At => ({ at, rank, state: 'lost' })

t.test('a process that ended while others waited ended first', async (t) => {
  t.equal(
    firstEnd(waiting(0, 20), waiting(2, 20), lost(1, 20), lost(0, 30), lost(2, 30)),
    'MPI rank 1 ended first, without MPI_Finalize, while MPI ranks 0 and 2 waited in MPI_Barrier ' +
      'number 7 on MPI_COMM_WORLD.',
  )
})

t.test('processes that ended together did not wait for each other', async (t) => {
  t.equal(
    firstEnd(...[0, 1, 2].map((rank) => waiting(rank, 20)), lost(1, 20), lost(2, 20)),
    'MPI ranks 1-2 ended first, without MPI_Finalize, while MPI rank 0 waited in MPI_Barrier ' +
      'number 7 on MPI_COMM_WORLD.',
  )
  t.equal(firstEnd(...[0, 1, 2].flatMap((rank) => [waiting(rank, 20), lost(rank, 20)])), null)
})

t.test('a process that was last seen waiting before the end did not wait for it', async (t) => {
  t.equal(firstEnd(waiting(0, 10), waiting(2, 10), lost(1, 20)), null)
})

t.test('no process ended first if none waited in a call, or all called MPI_Finalize', async (t) => {
  t.equal(firstEnd({ at: 20, rank: 0 }, lost(1, 20)), null)
  t.equal(firstEnd({ at: 20, rank: 0, state: 'finalized' }), undefined)
})

t.test('the processes of an earlier job are none of a later one', async (t) => {
  const earlier = [0, 1].map((rank): At => ({ at: 10, rank, pid: 50 + rank, call: 3 }))
  const ended = earlier.map((one): At => ({ ...one, at: 12, state: 'lost' }))
  const later = [0, 1].map((rank): At => ({ at: 30, began: 20, rank, call: 7 }))
  const end: At = { at: 30, began: 20, rank: 1, state: 'lost' }
  t.match(
    firstEnd(...earlier, ...ended, ...later, end),
    /^MPI rank 1 ended first, without MPI_Finalize, while MPI rank 0 waited in MPI_Barrier number 7/,
  )
  t.equal(firstEnd(...earlier, ...later, end), null, 'several processes have one rank')
})

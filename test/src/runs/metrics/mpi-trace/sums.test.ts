import t from 'tap'
import type { Sample } from '../../../../../src/runs/log/columns.ts'
import { addMpiRow, newMpiRun } from '../../../../../src/runs/metrics/mpi-trace/mpi-run.ts'
import { processesSince, sumsOf } from '../../../../../src/runs/metrics/mpi-trace/sums.ts'

const ROW = { metric: 'mpi-trace', source: 'hpc/a', program: 'lmp', pid: 7, mpi_rank: 0 }
const sampleOf = (cells: object) => ({ ...ROW, ...cells }) as unknown as Sample

/** Adds the rows of a timepoint: the sums of a process, and of some of its calls. */
function addTimepoint(run: ReturnType<typeof newMpiRun>, elapsed: number, calls: object) {
  const sums = { elapsed, mpi_seconds: elapsed / 4, calls: 10 * elapsed, bytes: 100 * elapsed }
  addMpiRow(run, 'rank', sampleOf({ ...sums, mpi_size: 2, job: '7', state: 'running' }))
  for (const [call, mpi_seconds] of Object.entries(calls)) {
    const cells = { call, communicator: 'world', mpi_peer: '1', mpi_seconds, calls: 1, bytes: 8 }
    addMpiRow(run, 'call', sampleOf(cells))
  }
}

t.test('what a process did since a time is the difference of its sums', async (t) => {
  const run = newMpiRun()
  addTimepoint(run, 100, { MPI_Wait: 20, MPI_Send: 5 })
  const before = sumsOf(run.processes)
  addTimepoint(run, 160, { MPI_Wait: 32, MPI_Recv: 7 })
  const [process] = processesSince(run.processes, before)
  t.match(process, { elapsed: 60, seconds: 15, waits: null, calls: 600, bytes: 6000 })
  t.strictSame(
    process?.rows.map(({ call, seconds }) => [call, seconds]),
    [['MPI_Wait', 12]],
    'the time of a call without an earlier row is not known',
  )
})

t.test('a process that was not known has begun since', async (t) => {
  const run = newMpiRun()
  const before = sumsOf(run.processes)
  addTimepoint(run, 20, { MPI_Wait: 3 })
  const [process] = processesSince(run.processes, before)
  t.match(process, { elapsed: 20, seconds: 5, rows: [{ call: 'MPI_Wait', seconds: 3 }] })
})

import t from 'tap'
import { storeOf } from '../../../../../src/runs/evidence/stores.ts'
import { MPI_STORE } from '../../../../../src/runs/metrics/mpi-trace/store.ts'
import { runOf, type TracedProcess } from './mpi-rows.ts'

const processesOf = (...rows: readonly TracedProcess[]) =>
  storeOf(runOf(rows).evidence.stores, MPI_STORE).processes

const FIRST = { rank: 0, size: 1, state: 'running', elapsed: 10 } as const

t.test('the rows of a timepoint replace those before', async (t) => {
  const [process, ...others] = processesOf(
    { ...FIRST, calls: [['MPI_Send', 'world', '1', 2]] },
    { ...FIRST, state: 'finalized', elapsed: 20, calls: [['MPI_Send', 'world', '1', 5]] },
  )
  t.strictSame(others, [])
  t.match(process, { state: 'finalized', elapsed: 20, seconds: 5 })
  t.match(process?.rows, [{ call: 'MPI_Send', communicator: 'world', peer: 1, seconds: 5 }])
  t.equal(process?.rows.length, 1)
})

t.test('a later process with the same id is another one', async (t) => {
  const last = { ...FIRST, state: 'finalized' }
  t.equal(processesOf(last, { ...FIRST, elapsed: 30 }).length, 2, 'the first one has ended')
  t.equal(processesOf(FIRST, { ...FIRST, elapsed: 5 }).length, 2, 'the second one began later')
  t.equal(processesOf(FIRST, { ...FIRST, job: '78' }).length, 2, 'it is of another job')
  t.equal(processesOf(FIRST, { ...FIRST, elapsed: 11 }).length, 1)
})

t.test('a process that ends after MPI_Finalize has the same row again', async (t) => {
  const last = { ...FIRST, state: 'finalized' }
  t.equal(processesOf(FIRST, last, last).length, 1)
})

t.test('processes without a process id are told apart by their ranks', async (t) => {
  const unknown = { pod: 'a', pid: null, size: 2, state: 'finalized' } as const
  const processes = processesOf({ ...unknown, rank: 0 }, { ...unknown, rank: 1 })
  t.match(processes, [
    { pid: null, rank: 0 },
    { pid: null, rank: 1 },
  ])
  t.equal(processes.length, 2)
})

t.test('only the last attempt of the target of each log counts', async (t) => {
  const calls = [['MPI_Send', 'world', '1', 2]] as const
  const pod = { pod: 'a', size: 2, job: null } as const
  const killed = [0, 1].map((rank) => ({ ...pod, rank, pid: rank + 7, state: 'lost' }))
  const again = [0, 1].map((rank) => ({ ...pod, rank, pid: rank + 17, attempt: 2, calls }))
  const late = { ...pod, rank: 1, pid: 9, state: 'lost', calls }
  const other = { ...pod, pod: 'b', rank: 0 }
  const processes = processesOf(...killed, other, ...again, late)
  t.strictSame(
    processes.map(({ source, pid }) => [source, pid]),
    [
      ['hpc/job-b/mpi-trace', 100],
      ['hpc/job-a/mpi-trace', 17],
      ['hpc/job-a/mpi-trace', 18],
    ],
  )
  t.match(
    processes.map(({ rows }) => rows.length),
    [0, 1, 1],
  )
  t.equal(processesOf(...killed, other).length, 3)
})

t.test('a peer that is not one process is none', async (t) => {
  const calls = ['none', 'other', '31'].map((peer) => ['MPI_Wait', 'world', peer, 1] as const)
  const [process] = processesOf({ ...FIRST, calls })
  t.strictSame(
    process?.rows.map(({ peer }) => peer),
    [null, null, 31],
  )
})

import t from 'tap'
import { storeOf } from '../../../../../src/runs/evidence/stores.ts'
import { joinJobs } from '../../../../../src/runs/metrics/mpi-trace/mpi-job.ts'
import { MPI_STORE } from '../../../../../src/runs/metrics/mpi-trace/store.ts'
import { runOf, type TracedProcess } from './mpi-rows.ts'

/** Joins the processes, and returns each job as its ranks, and its problem. */
function jobsOf(processes: readonly TracedProcess[]) {
  const jobs = joinJobs(
    storeOf(runOf(processes).evidence.stores, MPI_STORE),
    (source) => source.split('/')[1] ?? '',
  )
  return jobs.map((job) => ({
    job: job.job,
    ranks: job.processes.map(({ pod, rank }) => `${pod} ${rank}`),
    problem: job.problem,
  }))
}

const job = (name: string | null, ranks: readonly number[], changes: object = {}) =>
  ranks.map((rank) => ({ rank, size: 2, job: name, ...changes }))

t.test('the processes of several pods are joined by job and rank', async (t) => {
  const both = [...job('a', [1, 0]), ...job('b', [0, 1], { pid: 200 })]
  t.strictSame(jobsOf(both), [
    { job: 'a', ranks: ['job-0 0', 'job-1 1'], problem: null },
    { job: 'b', ranks: ['job-0 0', 'job-1 1'], problem: null },
  ])
  const pair = [0, 1].map((rank) => ({ rank, size: 2, pod: 'x', pid: 100 + rank }))
  t.strictSame(jobsOf(pair), [{ job: '77', ranks: ['job-x 0', 'job-x 1'], problem: null }])
})

t.test('a job with missing processes has a problem', async (t) => {
  const reason = 'mpi-trace has rows of only 1 of the 2 processes of the MPI job a'
  t.match(jobsOf(job('a', [1])), [{ problem: reason }])
})

t.test('processes that cannot be told apart have a problem', async (t) => {
  const twice = [...job('a', [0, 1]), ...job('a', [1], { pod: 'other' })]
  t.match(jobsOf(twice), [{ problem: 'several processes have the rank 1 of the MPI job a' }])
  const reason = 'several processes have the rank 0 of the MPI job, which has no identifier'
  t.match(jobsOf([...job(null, [0, 1]), ...job(null, [0, 1], { pid: 7 })]), [{ problem: reason }])
})

t.test('without an identifier, the only processes of their size are one job', async (t) => {
  t.match(jobsOf(job(null, [0, 1])), [{ job: null, problem: null }])
  const mixed = [...job(null, [0]), ...job(null, [1], { library: 'MPICH 4.0.2' })]
  t.match(jobsOf(mixed), [{ problem: /^processes of different programs or MPI libraries cannot / }])
})

t.test('a process whose MPI library is not known belongs to no job', async (t) => {
  t.strictSame(jobsOf([{ rank: null, pod: '0', size: 0 }]), [])
})

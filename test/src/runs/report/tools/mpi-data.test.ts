import { readFileSync } from 'node:fs'
import t from 'tap'
import { groupByPod } from '../../../../../src/runs/evidence/run-evidence.ts'
import { readLog } from '../../../../../src/runs/log/read.ts'
import { recordedJobs } from '../../../../../src/runs/metrics/recorded-jobs.ts'
import { pageData } from '../../../../../src/runs/report/data.ts'
import { addEntry, newRun } from '../../../../../src/runs/report/gather.ts'
import { type MpiJobData, mpiData } from '../../../../../src/runs/report/tools/mpi-data.ts'
import { BUILT_IN_ROWS } from '../../log/built-in.ts'
import { recordedLogs, runOf, type TracedProcess } from '../../metrics/mpi-trace/mpi-rows.ts'
import { documentOf } from '../document-of.ts'

const dataOf = (processes: readonly TracedProcess[]) => pageData(runOf(processes), 'auto').mpi

/** Returns a process with these seconds in two calls. */
const traced = (rank: number, size: number, send: number, wait = 1): TracedProcess => ({
  ...{ rank, size },
  calls: [
    ['MPI_Send', 'world', '1', send],
    ['MPI_Wait', 'world', '1', wait],
    ['MPI_Wait', 'world', 'none', wait],
  ],
})

/** Returns the value of a column for each row. */
function column({ columns, rows }: MpiJobData, key: string): readonly (number | null)[] {
  const at = columns.findIndex((one) => one.key === key)
  return rows.map(({ values }) => values[at] ?? null)
}

t.test('the page has the calls of a real run of LAMMPS', async (t) => {
  const run = newRun(BUILT_IN_ROWS)
  for (const name of recordedLogs('collective')) {
    const text = readFileSync(new URL(`../../../../logs/mpi/${name}`, import.meta.url), 'utf8')
    for (const entry of readLog(text, { source: name }, BUILT_IN_ROWS)) addEntry(run, entry)
  }
  const { mpi, sections } = pageData(run, 'auto')
  t.strictSame(
    sections.map(({ section }) => section),
    ['rank'],
    'calls, communicators and blocks are no lines over time',
  )
  const [job, ...others] = mpi?.jobs ?? []
  t.strictSame(others, [])
  if (job === undefined) throw new Error('there is no job')
  t.match(job, { job: '41943041', size: 4, problem: null, omitted: 0 })
  t.strictSame(column(job, 'mpi_seconds'), [9.39194, 9.93055, 1.10919, 9.75742])
  t.strictSame(column(job, 'MPI_Allreduce'), [9.32199, 9.85589, 1.0414, 9.67371])
  t.strictSame(column(job, 'bytes'), [39_830, 39_196, 39_196, 39_196])
  t.strictSame(
    column(job, 'percent').map((value) => Math.round(value ?? 0)),
    [77, 81, 9, 80],
  )
  t.match(job.rows[2], { pod: 'mpi-trace-collective-1.log', program: 'MPI rank 2, lmp' })
  t.strictSame(job.rows[2]?.marks.slice(0, 3), [false, true, true], 'rank 2 is an outlier')
  t.match(job.calls[0], { call: 'MPI_Allreduce', calls: 4 * 3086, longestMs: 30.459 })
  for (const { values } of job.rows) {
    const [, whole, , , , ...calls] = values.map((value) => value ?? 0)
    const sum = calls.reduce((all, own) => all + own, 0)
    t.ok(Math.abs(sum - (whole ?? 0)) < 1e-4, 'the calls add up to the time in MPI')
  }
})

t.test('a function has the sum of its rows, and the spread of the processes', async (t) => {
  const [job] =
    dataOf([traced(0, 3, 5), traced(1, 3, 7), { ...traced(2, 3, 0), calls: [] }])?.jobs ?? []
  t.match(job?.calls, [
    { call: 'MPI_Send', seconds: 12, calls: 20, percent: 4, spread: [0, 5, 7], bytes: 2000 },
    { call: 'MPI_Wait', seconds: 4, calls: 40, spread: [0, 2, 2], longestMs: 100 },
  ])
})

t.test('the jobs with the most time are first, and problems are told', async (t) => {
  const data = dataOf([traced(0, 2, 1), { ...traced(0, 1, 50), job: '78', pid: 7 }])
  t.match(data?.jobs, [
    { job: '78', size: 1, problem: null },
    { job: '77', size: 2, problem: /rows of only 1 of the 2 processes/ },
  ])
})

t.test('a run without calls of MPI has no such data', async (t) => {
  t.equal(dataOf([]), undefined)
  t.notOk('mpi' in documentOf(runOf([]), ''))
})

t.test('the data of 4,096 ranks is bounded', async (t) => {
  const all = Array.from({ length: 4096 }, (_, rank) => {
    const calls = Array.from(
      { length: 60 },
      (_, at) => [`MPI_F${at}`, 'world', 'none', rank === 4000 ? 2 : 1] as const,
    )
    return { rank, size: 4096, calls }
  })
  const data = dataOf(all)
  const [job] = data?.jobs ?? []
  t.equal(job?.rows.length, 4096)
  t.equal(job?.columns.length, 5 + 8 + 1)
  t.strictSame([job?.calls.length, job?.omittedCalls], [40, 20])
  t.strictSame(
    job?.rows.filter(({ marks }) => marks.some(Boolean)).map(({ mpiRank }) => mpiRank),
    [4000],
  )
  t.ok(JSON.stringify(data).length < 1_500_000)
})

t.test('of more processes, those with the most and the least time are kept', async (t) => {
  const all = Array.from({ length: 6000 }, (_, rank) => traced(rank, 6000, rank / 100))
  const data = dataOf([...all, { ...traced(0, 1, 90), job: '78', pid: 7 }])
  t.equal(data?.jobs.length, 2)
  const [job] = data?.jobs ?? []
  t.strictSame([job?.rows.length, job?.omitted], [2500, 3500])
  t.strictSame([job?.rows[0]?.mpiRank, job?.rows.at(-1)?.mpiRank], [0, 5999])
  const many = Array.from({ length: 25 }, (_, at) => ({
    ...traced(0, 1, at),
    job: `j${at}`,
    pid: at,
  }))
  t.match(dataOf(many), { omitted: 5 })
  t.equal(dataOf(many)?.jobs[0]?.job, 'j24')
})

t.test('the document for programs has the times of the processes and functions', async (t) => {
  const { mpi } = documentOf(runOf([traced(0, 2, 5), traced(1, 2, 3)]), '')
  t.match(mpi, [
    {
      job: '77',
      size: 2,
      processes: [
        { podIndex: '0', mpiRank: 0, elapsedSeconds: 100, mpiSeconds: 7, calls: 30, bytes: 3000 },
        { podIndex: '1', mpiRank: 1, mpiSeconds: 5 },
      ],
      calls: [
        { call: 'MPI_Send', seconds: 8, leastSeconds: 3, medianSeconds: 4, mostSeconds: 5 },
        { call: 'MPI_Wait', seconds: 4, calls: 40, bytes: 4000 },
      ],
    },
  ])
})

t.test('the time grows with the processes, even if each calls functions of its own', async (t) => {
  const timeOf = (size: number) => {
    const run = runOf(
      Array.from({ length: size }, (_, rank) => ({
        ...{ rank, size },
        calls: [[`MPI_X${rank}`, 'world', 'none', 1] as const],
      })),
    )
    const evidence = groupByPod(run.evidence, () => '0')
    const began = process.cpuUsage()
    mpiData(recordedJobs(evidence))
    const { user, system } = process.cpuUsage(began)
    return user + system
  }
  timeOf(1000)
  const [small, large] = [timeOf(2000), timeOf(16_000)]
  t.ok(large < 32 * small, `8 times the processes took ${(large / small).toFixed(1)} times as long`)
})

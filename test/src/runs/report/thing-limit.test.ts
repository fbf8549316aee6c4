import t from 'tap'
import { readLog } from '../../../../src/runs/log/read.ts'
import { pageData } from '../../../../src/runs/report/data.ts'
import { addEntry, newRun } from '../../../../src/runs/report/gather.ts'
import { newThingLimit } from '../../../../src/runs/report/thing-limit.ts'
import { BUILT_IN_ROWS } from '../log/built-in.ts'
import { documentOf } from './document-of.ts'

const START = `METADATA START {"metricName":"METRIC","pod":"a-0","completionIndex":"0"}
METADATA END
METRICS OPERATOR COLLECTION START`

/** Reads a log of this metric, in a report with at most two things of each section. */
function readTwo(metric: string, rows: readonly object[], summary: readonly object[] = []) {
  const run = newRun(BUILT_IN_ROWS, [], newThingLimit(2))
  const lines = rows.map((row) => JSON.stringify({ time: '2026-11-25T10:00:00Z', ...row }))
  const end = ['METRICS OPERATOR COLLECTION END', ...summary.map((line) => JSON.stringify(line))]
  const text = [START.replace('METRIC', metric), ...lines, ...end].join('\n')
  for (const entry of readLog(text, { source: 'log' }, BUILT_IN_ROWS)) addEntry(run, entry)
  return run
}

const process = (pid: number, seconds: number) => {
  return { section: 'process', container: 'app', program: 'lmp', pid, cpu_time: seconds }
}
const PROCESSES = [process(1, 1), process(2, 2), process(3, 4), process(4, 8)]
const LEFT_OUT =
  'log: only the first 2 entries of its section process are read; 2 rows about others are left ' +
  'out, also in the findings.'

t.test('a report says that rows about further processes are left out', async (t) => {
  const run = readTwo('pressure', PROCESSES)
  const { sections, notices } = pageData(run, 'process')
  t.strictSame(
    sections.flatMap(({ plots }) => plots.lines.map(({ pid }) => pid)),
    [1, 2],
  )
  t.ok(notices.includes(LEFT_OUT), notices.join('\n'))
  t.ok(documentOf(run, '').notices.includes(LEFT_OUT))
})

t.test('a total of samples is not known if processes are left out', async (t) => {
  const [pod] = documentOf(readTwo('pressure', PROCESSES), '').pods
  t.match(pod?.programs, [{ program: 'lmp', processes: null, cpu_seconds: null }])
  const [whole] = documentOf(readTwo('pressure', PROCESSES.slice(0, 2)), '').pods
  t.match(whole?.programs, [{ program: 'lmp', processes: 2, cpu_seconds: 3 }])
})

t.test('a total of the summary is known although processes are left out', async (t) => {
  const line = { program: 'lmp', container: 'app', processes: 4, cpu_seconds: 15, run_delay: 0 }
  const summary = [{ metric: 'pressure', processes: 4 }, line]
  const [pod] = documentOf(readTwo('pressure', PROCESSES, summary), '').pods
  t.match(pod?.programs, [{ program: 'lmp', processes: 4, cpu_seconds: 15 }])
})

t.test('the calls of an MPI process that is left out belong to no other process', async (t) => {
  const about = (rank: number, pid: number) => {
    return { container: 'app', program: 'lmp', pid, mpi_rank: rank }
  }
  const rankRow = (rank: number, pid: number) => {
    const state = 'finalized'
    const seconds = { elapsed: 9, mpi_seconds: 3, calls: 1, bytes: 0 }
    return { section: 'rank', ...about(rank, pid), mpi_size: 3, job: 'j', state, ...seconds }
  }
  const callRow = (rank: number, pid: number, call: string) => {
    const own = { call, communicator: 'world', mpi_peer: 'none' }
    return { section: 'call', ...about(rank, pid), ...own, calls: 1, mpi_seconds: 3, bytes: 0 }
  }
  // The third process has the process id of the first one.
  const rows = [rankRow(0, 1), rankRow(1, 2), rankRow(2, 1)]
  const run = readTwo('mpi-trace', [...rows, callRow(2, 1, 'MPI_Send'), callRow(1, 2, 'MPI_Recv')])
  const { mpi, notices } = documentOf(run, '')
  t.strictSame(
    mpi?.flatMap(({ calls }) => calls.map(({ call }) => call)),
    ['MPI_Recv'],
  )
  t.match(notices.join('\n'), /only the first 2 entries of its section rank are read/)
})

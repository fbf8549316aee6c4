import t from 'tap'
import type { Sample } from '../../../../../src/runs/log/columns.ts'
import {
  addMpiRow,
  type MpiRun,
  newMpiRun,
} from '../../../../../src/runs/metrics/mpi-trace/mpi-run.ts'
import {
  findStuckStart,
  joinStarting,
} from '../../../../../src/runs/metrics/mpi-trace/stuck-start.ts'

/** The cells of a row of mpi-trace, in the pod `pod-RANK`; these rows are chosen by the tests. */
interface Row {
  readonly rank: number | null
  readonly call?: string | null
  readonly state?: string
  readonly cpu?: number
  readonly size?: number | null
  readonly pid?: number
  readonly pod?: string
}

/** Adds rows of the section `start` of a timepoint, which are 10 s apart. */
function addStarts(run: MpiRun, timepoint: number, rows: readonly Row[]): void {
  for (const row of rows) addMpiRow(run, 'start', sampleOf(row, timepoint))
}

function sampleOf(row: Row, timepoint: number): Sample {
  const { rank, call = 'MPI_Init', state = 'sleeping', cpu = 1, size = 3, pid = 7 } = row
  const pod = row.pod ?? `pod-${rank}`
  const time = new Date(1_700_000_000_000 + timepoint * 10_000).toISOString()
  return {
    ...{ kind: 'process', source: pod, metric: 'mpi-trace', namespace: 'hpc', pod, node: null },
    ...{
      pod_index: null,
      timepoint,
      time,
      seconds: timepoint * 10,
      interval: null,
      section: 'start',
    },
    ...{ container: 'app', program: 'lmp', pid, mpi_rank: rank, mpi_size: size, job: null, call },
    ...{ waited: timepoint * 10, process_state: state, cpu_time: cpu },
  } as Sample
}

const find = (run: MpiRun) => joinStarting(run, (source) => source).flatMap(findStuckStart)

/** Returns what is stuck after three timepoints with these rows. */
function findAfter(...timepoints: readonly (readonly Row[])[]) {
  const run = newMpiRun()
  timepoints.forEach((rows, at) => {
    addStarts(run, at, rows)
  })
  return find(run)
}

const absent = (row: Partial<Row> = {}): Row => ({ rank: 2, call: null, ...row })
const BOTH = [{ rank: 0 }, { rank: 1 }] as const

t.test('the process that has not called MPI_Init is late', async (t) => {
  for (const [last, activity] of [
    [absent(), { is: 'sleeping' }],
    [absent({ state: 'stopped' }), { is: 'sleeping' }],
    [absent({ state: 'disk' }), { is: 'storage' }],
    [absent({ state: 'running', cpu: 9 }), { is: 'computing' }],
  ] as const) {
    const [stuck, ...others] = findAfter([...BOTH, absent()], [...BOTH, last])
    t.strictSame(others, [])
    t.match(stuck, { why: 'start', unrecorded: 0, waiting: [{ rank: 0 }, { rank: 1 }] })
    t.match(stuck?.late, [{ member: { rank: 2, waited: 10 }, activity }])
  }
  const stopped = [...BOTH, absent({ state: 'stopped' })]
  t.match(findAfter(stopped, stopped)[0]?.late, [{ activity: { is: 'stopped' } }])
})

t.test('a process of which there are no rows may be late', async (t) => {
  t.match(findAfter(BOTH, BOTH), [{ late: [], unrecorded: 1 }])
  const all = [...BOTH, { rank: 2 }]
  t.match(findAfter(all, all), [{ late: [], unrecorded: 0 }])
})

t.test('a process without a known rank waits too', async (t) => {
  const unknown = [{ rank: null, size: null, pod: 'a' }]
  t.match(findAfter(unknown, unknown), [{ waiting: [{ rank: null, pid: 7 }], unrecorded: null }])
})

t.test('a process that was seen once, or has gone on, does not wait', async (t) => {
  t.strictSame(findAfter([...BOTH, absent()]), [])
  const run = newMpiRun()
  addStarts(run, 0, BOTH)
  addStarts(run, 1, BOTH)
  for (const { rank } of BOTH) addMpiRow(run, 'rank', sampleOf({ rank }, 2))
  t.strictSame(find(run), [])
})

t.test('a process has ended if others were seen after that', async (t) => {
  const ended = absent({ state: 'ended' })
  t.match(findAfter([...BOTH, absent()], [...BOTH, ended], BOTH)[0]?.late, [
    { member: { rank: 2 }, activity: { is: 'ended' } },
  ])
  const inMpi = [{ rank: 0 }, { rank: 1 }, { rank: 2 }]
  const killed = { rank: 2, state: 'ended' }
  const [stuck] = findAfter(inMpi, [...BOTH, killed], BOTH)
  t.match(stuck?.late, [{ member: { call: 'MPI_Init' }, activity: { is: 'ended' } }])
})

t.test('processes that were killed while they waited still wait', async (t) => {
  const all = [...BOTH, absent({ state: 'stopped' })]
  const killed = BOTH.map((row) => ({ ...row, state: 'ended' }))
  t.match(findAfter(all, all, killed), [
    { waiting: [{ rank: 0 }, { rank: 1 }], late: [{ activity: { is: 'stopped' } }] },
  ])
})

t.test('the rank of a shell has the process that the shell has started', async (t) => {
  const [shell, copy] = [absent({ pid: 7 }), absent({ pid: 8, state: 'disk' })]
  const [stuck] = findAfter([...BOTH, shell], [...BOTH, copy])
  t.match(stuck?.late, [{ member: { pid: 8 }, activity: { is: 'storage' } }])
})

import t from 'tap'
import { countedIn } from '../../../../../src/runs/metrics/mpi-trace/calls-progress.ts'
import type { JobProcess } from '../../../../../src/runs/metrics/mpi-trace/mpi-job.ts'
import type {
  AbsentProcess,
  StuckProcesses,
} from '../../../../../src/runs/metrics/mpi-trace/stuck-processes.ts'
import { describeStuckNow } from '../../../../../src/runs/metrics/mpi-trace/stuck-text.ts'
import type { WaitingProcess } from '../../../../../src/runs/metrics/mpi-trace/waiting-processes.ts'
import { absent, findWith, waiting } from '../../findings/cases.ts'
import type { Sections } from '../../findings/rows.ts'

/** The process that is late, and the seconds for which the others wait. */
interface Shape extends Partial<Pick<AbsentProcess, 'activity' | 'away' | 'quiet' | 'hasBegun'>> {
  readonly why?: StuckProcesses['why']
  readonly waited: number
  readonly longestGap?: number
  readonly number?: number
  readonly call?: string
  readonly longestCall?: number
}

/** Reports whether a process counts that others wait for. */
function counts(shape: Shape): boolean {
  const { why = 'late', waited, longestGap = 0.5, longestCall = 0, ...others } = shape
  const { number = 6, call = 'MPI_Barrier', ...facts } = others
  const thread = { call, communicator: 'world', number }
  const waiting = { thread, waited } as WaitingProcess
  const process = { rank: 2 } as JobProcess
  const activity = { is: 'sleeping' } as const
  const late = {
    process,
    activity,
    call: null,
    line: null,
    away: waited,
    quiet: waited,
    hasBegun: true,
    isInCall: false,
  }
  const lates = why === 'late' ? [{ ...late, ...facts }] : []
  const stuck = { why, waiting: [waiting], late: lates, unrecorded: 1, longestGap, longestCall }
  const stalled = why === 'stalled' ? { call: null, processes: 2, seconds: waited } : undefined
  return countedIn({ ...stuck, ...(stalled && { stalled }) }).length > 0
}

/** What a late process does, and the seconds after which it counts. */
const MIN: readonly (readonly [string, Omit<Shape, 'waited'>, number])[] = [
  ['a process that sleeps', {}, 10],
  ['a process that waits for storage', { activity: { is: 'storage' } }, 10],
  ['a process that sleeps, but used a processor', { quiet: 9 }, 60],
  ['a process that writes to a slow disk', { activity: { is: 'storage' }, quiet: 0 }, 60],
  ['a process that computes', { activity: { is: 'computing' } }, 60],
  ['a process that receives from any process', { activity: { is: 'waiting' } }, 60],
  ['a process that often computes for long', { activity: { is: 'computing' }, longestGap: 9 }, 90],
  ['a process that sleeps after it has started', { hasBegun: false }, 300],
  ['a process that reads its input', { hasBegun: false, activity: { is: 'computing' } }, 300],
  ['a process that is not recorded', { why: 'unrecorded' }, 60],
  ['a process that is not recorded and starts', { why: 'unrecorded', number: 1 }, 300],
  ['a call that no process leaves', { why: 'stalled' }, 60],
  [
    'a call that no process leaves, of a job with long calls',
    { why: 'stalled', longestCall: 9 },
    90,
  ],
  ['the first collective call', { why: 'stalled', number: 1 }, 300],
  ['MPI_Finalize', { why: 'stalled', call: 'MPI_Finalize' }, 300],
]

for (const [what, shape, seconds] of MIN) {
  t.test(`${what} counts after ${seconds} s`, async (t) => {
    t.equal(counts({ ...shape, waited: seconds - 0.1 }), false)
    t.equal(counts({ ...shape, waited: seconds }), true)
    if (shape.why === undefined)
      t.equal(counts({ ...shape, waited: seconds, away: seconds - 0.1 }), false)
  })
}

t.test('states that cannot end by themselves count at once', async (t) => {
  for (const activity of [{ is: 'stopped' }, { is: 'ended', state: 'lost' }] as const)
    t.equal(counts({ activity, waited: 1, away: 0, hasBegun: false }), true)
  for (const why of ['deadlock', 'mismatch', 'roots'] as const)
    t.equal(counts({ why, waited: 1 }), true)
})

t.test('the line of Python in which a late process is', async (t) => {
  const now = { threads: 'main', stack: '<module> (train.py:60);load_batch (data.py:41)' }
  const late = (own: Sections = {}) => ({ others: [{ ...absent('stopped', () => 21), ...own }] })
  const [known] = findWith(waiting, late({ now })).findings
  t.match(
    known?.sentence,
    /MPI rank 1 has not come: it is stopped in load_batch \(data\.py:41\)\.$/,
  )
  t.match(known?.pods[0]?.stuck?.document(), {
    late: [{ pythonLine: 'load_batch (data.py:41)' }],
  })
  const [other] = findWith(waiting, late()).findings
  t.match(other?.sentence, /has not come: it is stopped\.$/)
})

t.test('late processes with different activities have a sentence each', async (t) => {
  const lateIn = (rank: number, activity: AbsentProcess['activity']): AbsentProcess => ({
    ...{ activity, call: null, line: null, away: 20, quiet: 20, hasBegun: true },
    ...{ process: { rank } as JobProcess, isInCall: false },
  })
  const thread = { call: 'MPI_Barrier', communicator: 'world', number: 6 }
  const waiting = { thread, waited: 20, process: { rank: 0 } } as WaitingProcess
  const late = [
    lateIn(1, { is: 'sleeping' }),
    lateIn(2, { is: 'stopped' }),
    lateIn(3, { is: 'stopped' }),
  ]
  t.equal(
    describeStuckNow({
      ...{ why: 'late', waiting: [waiting], late, unrecorded: 0, longestGap: 1, longestCall: 0 },
    }),
    'For 20 s, MPI rank 0 waits in MPI_Barrier number 6 on MPI_COMM_WORLD. ' +
      'MPI rank 1 has not come: it sleeps in a system call. ' +
      'MPI ranks 2-3 have not come: they are stopped.',
  )
})

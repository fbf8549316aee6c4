import t from 'tap'
import { countedStart } from '../../../../../src/runs/metrics/mpi-trace/start-progress.ts'
import {
  describeStart,
  describeStartNow,
} from '../../../../../src/runs/metrics/mpi-trace/start-text.ts'
import type {
  AbsentMember,
  StartingMember,
  StuckStart,
} from '../../../../../src/runs/metrics/mpi-trace/stuck-start.ts'

const memberOf = (rank: number | null, waited: number, call: string | null = 'MPI_Init') =>
  ({ rank, waited, call, seconds: 400, pod: 'a', program: 'lmp', pid: 7 }) as StartingMember

const lateOf = (is: AbsentMember['activity']['is'], rank: number | null = 2): AbsentMember => {
  const activity = is === 'ended' ? ({ is, state: 'lost' } as const) : ({ is } as const)
  return { member: memberOf(rank, 99, null), activity }
}

const stuckFor = (waited: number, ...late: readonly AbsentMember[]): StuckStart => ({
  ...{ why: 'start', waiting: [memberOf(0, waited), memberOf(1, waited)], late },
  unrecorded: 0,
})

t.test('processes that wait in MPI_Init count after 5 min', async (t) => {
  for (const is of ['sleeping', 'storage', 'computing'] as const) {
    t.strictSame(countedStart(stuckFor(299.9, lateOf(is))), [])
    t.equal(countedStart(stuckFor(300, lateOf(is))).length, 1)
  }
  t.strictSame(countedStart(stuckFor(299.9)), [])
  t.equal(countedStart(stuckFor(300)).length, 1)
})

t.test('a process that cannot come counts at once', async (t) => {
  for (const is of ['ended', 'stopped'] as const) {
    const [stuck] = countedStart(stuckFor(2, lateOf('sleeping', 3), lateOf(is)))
    t.match(stuck?.late, [{ activity: { is } }])
    t.equal(stuck?.late.length, 1)
  }
})

t.test('the text names who waits, since when, and who has not come', async (t) => {
  t.equal(
    describeStart(stuckFor(310, lateOf('stopped'))),
    'Since 90 s after the start, MPI ranks 0-1 wait in MPI_Init. MPI rank 2 has not ' +
      'called MPI_Init: its process lmp (PID 7) is stopped.',
  )
  t.equal(
    describeStartNow(stuckFor(310)),
    'For 5 min 10 s, MPI ranks 0-1 wait in MPI_Init. All processes of the job have called it.',
  )
  const ended = { member: memberOf(2, 5), activity: { is: 'ended', state: 'lost' } } as const
  t.match(describeStartNow(stuckFor(310, ended)), /MPI rank 2 ended in MPI_Init\.$/)
  const unknown = { ...stuckFor(310), waiting: [memberOf(null, 310)], unrecorded: null }
  t.equal(
    describeStartNow(unknown),
    'For 5 min 10 s, the process lmp (PID 7) in a waits in MPI_Init.',
  )
  const numbered = { ...unknown, waiting: [{ ...memberOf(null, 310), pod: '3' }] }
  t.match(describeStartNow(numbered), /, the process lmp \(PID 7\) in pod 3 waits in MPI_Init\.$/)
  const missing = { ...stuckFor(310), unrecorded: 2 }
  t.match(describeStartNow(missing), /one of 2 processes of which there are no rows\.$/)
})

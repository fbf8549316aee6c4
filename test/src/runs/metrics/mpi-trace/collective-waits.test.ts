import t from 'tap'
import { storeOf } from '../../../../../src/runs/evidence/stores.ts'
import {
  findCollectiveWaits,
  findIncomparable,
} from '../../../../../src/runs/metrics/mpi-trace/collective-waits.ts'
import { joinJobs } from '../../../../../src/runs/metrics/mpi-trace/mpi-job.ts'
import { MPI_STORE } from '../../../../../src/runs/metrics/mpi-trace/store.ts'
import { type Blocks, runOf, type TracedProcess } from './mpi-rows.ts'

/** Finds the waits of processes, as `waiting > late: seconds`, and the reasons. */
function waitsOf(processes: readonly TracedProcess[]) {
  const jobs = joinJobs(storeOf(runOf(processes).evidence.stores, MPI_STORE), (source) => source)
  const unchecked = findIncomparable(jobs, 0.1)
  const waits = findCollectiveWaits(jobs, 0.1).flatMap((one) =>
    one.waits.map(({ waiting, seconds }) => `${waiting.rank} > ${one.late.rank}: ${seconds}`),
  )
  return { waits: waits.sort(), reasons: [...new Set(unchecked.values())] }
}

/** Returns the processes of a job, each with the blocks of world. */
const withBlocks = (all: readonly (Partial<Blocks> | undefined)[]): readonly TracedProcess[] =>
  all.map((blocks, rank) => ({
    rank,
    size: all.length,
    communicators: blocks ? { world: { size: all.length, seconds: [], ...blocks } } : {},
  }))

t.test('in each block, the process with the least time came last', async (t) => {
  const { waits, reasons } = waitsOf(
    withBlocks([{ seconds: [20, 1] }, { seconds: [30, 6] }, { seconds: [5, 8] }]),
  )
  t.strictSame(waits, ['0 > 2: 15', '1 > 0: 5', '1 > 2: 25', '2 > 0: 7'])
  t.strictSame(reasons, [])
})

t.test('only the members of a communicator are compared', async (t) => {
  const [upper, two] = ['2-aaaaaaaa-0', '2-bbbbbbbb-0']
  const of = (rank: number, name: string, seconds: number) => ({
    rank,
    size: 4,
    communicators: { [name]: { size: 2, seconds: [seconds] } },
  })
  const { waits } = waitsOf([of(0, upper, 30), of(1, upper, 10), of(2, two, 5), of(3, two, 40)])
  t.strictSame(waits, ['0 > 1: 20', '3 > 2: 35'])
})

t.test('blocks of a killed process are compared as far as all have them', async (t) => {
  const processes = withBlocks([
    { seconds: [20, 30, 40], width: 4 },
    { seconds: [1, 2, 3, 4, 9], width: 2 },
  ])
  const killed = (one: TracedProcess) => (one.rank === 1 ? { ...one, state: 'lost' } : one)
  const { waits } = waitsOf(processes.map(killed))
  t.strictSame(waits, ['0 > 1: 40'], '20 - (1 + 2) and 30 - (3 + 4)')
})

t.test(
  'nothing is compared without the blocks of all members, and the reason says so',
  async (t) => {
    const reasonsOf = (all: readonly (Partial<Blocks> | undefined)[]) => {
      const { waits, reasons } = waitsOf(withBlocks(all))
      t.strictSame(waits, [])
      return reasons
    }
    t.strictSame(reasonsOf([{ seconds: [50] }, undefined]), [
      'mpi-trace has rows of only 1 of the 2 members of the communicator world',
    ])
    t.strictSame(reasonsOf([{ seconds: [50, 50] }, { seconds: [5], collectives: 20 }]), [
      'the log has not all blocks of the communicator world',
    ])
    t.strictSame(reasonsOf([{ seconds: [50] }, { seconds: [5], width: 9 }]), [
      'the members of the communicator world made different numbers of calls',
    ])
    t.strictSame(reasonsOf([{ seconds: [50] }, { seconds: [5], size: 3 }]), [
      'different communicators have the name world',
    ])
  },
)

t.test('a communicator is skipped if no rank spent much time in its calls', async (t) => {
  const { waits, reasons } = waitsOf(withBlocks([{ seconds: [9] }, undefined]))
  t.strictSame([waits, reasons], [[], []])
})

/** Two jobs of two processes, with these seconds in `world` and in a communicator of all. */
const connected = (name: string, jobs: readonly (readonly [job: string, number, number])[]) =>
  jobs.flatMap(([job, first, second]) =>
    [first, second].map((seconds, rank) => ({
      ...{ rank, size: 2, job, pod: `${job}-${rank}` },
      communicators: { [name]: { size: 4, seconds: [seconds] } },
    })),
  )

t.test('the members of a communicator that connects jobs are compared', async (t) => {
  const jobs = [
    ['parents', 60, 61],
    ['children', 62, 2],
  ] as const
  const { waits, reasons } = waitsOf(connected('jobs-4-aaaaaaaa-0', jobs))
  t.strictSame(waits, ['0 > 1: 58', '0 > 1: 60', '1 > 1: 59'])
  t.strictSame(reasons, [])
})

t.test('communicators with the same name in different jobs are not one', async (t) => {
  const jobs = [
    ['one', 60, 61],
    ['other', 62, 2],
  ] as const
  const { waits, reasons } = waitsOf(connected('4-aaaaaaaa-0', jobs))
  t.strictSame(waits, [])
  t.strictSame(reasons, [
    'mpi-trace has rows of only 2 of the 4 members of the communicator 4-aaaaaaaa-0',
  ])
})

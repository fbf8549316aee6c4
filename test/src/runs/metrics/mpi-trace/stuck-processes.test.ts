import t from 'tap'
import type { JobProcess } from '../../../../../src/runs/metrics/mpi-trace/mpi-job.ts'
import type { OpenThread } from '../../../../../src/runs/metrics/mpi-trace/open-calls.ts'
import { findStuckProcesses } from '../../../../../src/runs/metrics/mpi-trace/stuck-processes.ts'

const NO_CALL: OpenThread = {
  ...{ thread: 1, call: null, communicator: null, number: null, peer: null, transfer: null },
  ...{ since: 70, samples: 3 },
}

/** A thread in a collective call of MPI_COMM_WORLD since 50 s, at three timepoints. */
const collective = (call: string, number: number, communicator = 'world'): OpenThread => ({
  ...{ ...NO_CALL, call, communicator, number, since: 50 },
})

/** A thread that sends to a rank, or receives from it. */
const transfer = (kind: 'send' | 'receive', peer: number | null): OpenThread => ({
  ...{ ...NO_CALL, call: kind === 'send' ? 'MPI_Send' : 'MPI_Recv', peer, transfer: kind },
  since: 50,
})

interface Facts {
  readonly begun?: Readonly<Record<string, number>>
  readonly size?: number
  readonly state?: string
  readonly processState?: string
  readonly cpu?: number
  readonly endedAt?: number | null
  readonly at?: number
  /** When MPI_Init ended, in seconds before the rows. */
  readonly elapsed?: number
}

/** A process 100 s after MPI_Init, with samples every 10 s. */
function processOf(rank: number, thread: OpenThread, facts: Facts = {}): JobProcess {
  const { begun = { world: 5 }, size = 3, state = 'running', processState = 'sleeping' } = facts
  const { cpu = 0, endedAt = null, at = 1000, elapsed = 100 } = facts
  return {
    ...{ source: 'log', pod: String(rank), program: 'app', pid: 10 + rank, rank, size, job: '7' },
    ...{ library: null, state, endedAt, elapsed: 100, seconds: 1, calls: 9, bytes: 0, rows: [] },
    ...{ waits: null, asleep: null, fastSeconds: null, active: 0 },
    ...{ communicators: [], blocks: new Map() },
    open: {
      ...{ timepoint: 9, at, seconds: 100, elapsed, interval: 10, longestGap: 2, longestCall: 0 },
      ...{ state: processState, stateSamples: 3, cpuTime: 1, cpu, quiet: 30 },
      ...{ asleepSamples: 0, storageSamples: 0 },
      ...{ first: { elapsed: 0, cpuTime: 1 }, threads: [thread], threadsBefore: new Map() },
    },
    begun: new Map(Object.entries(begun).map(([name, count]) => [name, { size, begun: count }])),
  }
}

const find = (...processes: JobProcess[]) => {
  const size = processes[0]?.size ?? 0
  return findStuckProcesses({ job: '7', size, processes, conflict: null, problem: null })
}

const inSixth = (rank: number, call = 'MPI_Allreduce') =>
  processOf(rank, collective(call, 6), { begun: { world: 6 } })

const ranksOf = (all: readonly { readonly process: JobProcess }[] = []) =>
  all.map(({ process }) => process.rank)

t.test('the process that has begun fewer collective calls is late', async (t) => {
  for (const [facts, activity] of [
    [{}, { is: 'sleeping' }],
    [{ processState: 'disk' }, { is: 'storage' }],
    [{ processState: 'stopped' }, { is: 'stopped' }],
    [{ processState: 'running', cpu: 1 }, { is: 'computing' }],
    [{ cpu: 0.5 }, { is: 'computing' }],
    [
      { state: 'lost', endedAt: 950, at: 940 },
      { is: 'ended', state: 'lost' },
    ],
  ] as const) {
    const [stuck, ...others] = find(inSixth(0), inSixth(1), processOf(2, NO_CALL, facts))
    t.strictSame(others, [])
    t.match(stuck, { why: 'late', unrecorded: 0, longestGap: 2 })
    t.strictSame([ranksOf(stuck?.waiting), ranksOf(stuck?.late)], [[0, 1], [2]])
    t.strictSame(stuck?.late[0]?.activity, activity)
  }
})

t.test('a process that was killed with the others waited until then', async (t) => {
  const killed = (process: JobProcess) => ({ ...process, state: 'lost', endedAt: 1003 })
  const late = killed(processOf(2, NO_CALL, { processState: 'disk' }))
  const [stuck] = find(killed(inSixth(0)), killed(inSixth(1)), late)
  t.strictSame(stuck?.late[0]?.activity, { is: 'storage' })
})

t.test('nothing is stuck if a call was seen once, or the process has finalized', async (t) => {
  const once = { ...collective('MPI_Allreduce', 6), samples: 1 }
  const begun = { world: 6 }
  t.strictSame(find(processOf(0, once, { begun }), processOf(1, NO_CALL)), [])
  const ended = { begun, state: 'finalized', endedAt: 1003 }
  t.strictSame(find(processOf(0, collective('MPI_Allreduce', 6), ended), processOf(1, NO_CALL)), [])
})

t.test('different collective calls of a communicator do not match', async (t) => {
  const [stuck] = find(inSixth(0), inSixth(1), inSixth(2, 'MPI_Barrier'))
  t.match(stuck, { why: 'mismatch', late: [] })
  t.strictSame(ranksOf(stuck?.waiting), [0, 1, 2])
  t.match(find(inSixth(0), inSixth(1, 'MPI_Allreduce_c'), inSixth(2)), [{ why: 'stalled' }])
})

t.test('MPI_Finalize in place of a collective call is late', async (t) => {
  const facts = { begun: { world: 6 }, state: 'finalized', endedAt: 900 }
  const [stuck] = find(inSixth(0), inSixth(1), processOf(2, NO_CALL, facts))
  t.strictSame(stuck?.late[0]?.activity, { is: 'ended', state: 'finalized' })
})

t.test('blocking calls in a circle are a deadlock', async (t) => {
  for (const kind of ['send', 'receive'] as const) {
    const [stuck] = find(
      ...[processOf(0, transfer(kind, 1)), processOf(1, transfer(kind, 0)), inSixth(2)],
    )
    t.match(stuck, { why: 'deadlock', late: [] })
    t.strictSame(ranksOf(stuck?.waiting), [0, 1])
  }
  const [missing] = find(inSixth(0), processOf(1, transfer('receive', 0)))
  t.match(missing, { why: 'deadlock' })
})

t.test('a message that is being transferred is no deadlock', async (t) => {
  const sends = processOf(0, transfer('send', 1))
  t.strictSame(find(sends, processOf(1, transfer('receive', 0))), [])
  t.strictSame(find(sends, processOf(1, transfer('receive', null))), [])
})

t.test('a process that waits for a late process is not late', async (t) => {
  const half = '2-abcd-0'
  const [stuck, ...others] = find(
    processOf(0, collective('MPI_Barrier', 2, half), { begun: { world: 5, [half]: 2 } }),
    processOf(1, collective('MPI_Barrier', 6), { begun: { world: 6 } }),
    processOf(2, NO_CALL, { begun: { world: 5, [half]: 1 } }),
  )
  t.strictSame(others, [])
  t.strictSame([ranksOf(stuck?.waiting), ranksOf(stuck?.late)], [[0, 1], [2]])
})

t.test('the late process may not be recorded', async (t) => {
  const [stuck] = find(inSixth(0), inSixth(1))
  t.match(stuck, { why: 'unrecorded', unrecorded: 1, late: [] })
})

t.test('processes of which it is not known for whom they wait are stalled', async (t) => {
  const waitall = { ...NO_CALL, call: 'MPI_Waitall', since: 50 }
  const [stuck, ...others] = find(...[0, 1, 2].map((rank) => processOf(rank, waitall)))
  t.strictSame(others, [])
  t.match(stuck, { why: 'stalled', stalled: { call: null, processes: 3, seconds: 50 } })
  t.strictSame(find(processOf(0, waitall), processOf(1, waitall), processOf(2, NO_CALL)), [])
  t.strictSame(find(processOf(0, waitall), processOf(1, waitall)), [], 'one is not recorded')
  t.strictSame(find(inSixth(0), inSixth(0)), [], 'two processes have the same rank')
})

t.test('the thread that waits for another process counts', async (t) => {
  const helper = { ...transfer('receive', null), thread: 2, since: 1 }
  const withHelper = (process: JobProcess): JobProcess => {
    const { open } = process
    if (open === null) throw new Error('the process has no open call')
    return { ...process, open: { ...open, threads: [helper, ...open.threads] } }
  }
  const [stuck] = find(withHelper(inSixth(0)), withHelper(inSixth(1)), processOf(2, NO_CALL))
  t.strictSame([ranksOf(stuck?.waiting), ranksOf(stuck?.late)], [[0, 1], [2]])
  t.match(stuck?.waiting[0], { thread: { call: 'MPI_Allreduce' }, waited: 50 })
})

t.test('a process that waits for any process is late if all others wait', async (t) => {
  const receives = processOf(2, transfer('receive', null))
  const [stuck, ...others] = find(inSixth(0), inSixth(1), receives)
  t.strictSame(others, [], 'that all wait has this reason')
  t.match(stuck?.late, [{ activity: { is: 'waiting' }, call: 'MPI_Recv', away: 50 }])
  const computes = processOf(1, NO_CALL, { begun: { world: 6 }, processState: 'running' })
  t.strictSame(find(inSixth(0), computes, receives), [], 'its message may come')
})

t.test('an earlier job without an identifier does not count', async (t) => {
  const earlier = [0, 1, 2].map((rank) => processOf(rank, NO_CALL, { state: 'lost', endedAt: 890 }))
  const [stuck] = find(...earlier, inSixth(0), inSixth(1), processOf(2, NO_CALL))
  t.match(stuck, { why: 'late', late: [{ process: { state: 'running' } }] })
})

t.test('a process that waits for a chain of processes is described with the others', async (t) => {
  const chain = [0, 1, 2].map((rank) => processOf(rank, transfer('receive', rank + 1)))
  const [stuck, ...others] = find(...chain, processOf(3, NO_CALL))
  t.strictSame(others, [])
  t.strictSame([ranksOf(stuck?.waiting), ranksOf(stuck?.late)], [[0, 1, 2], [3]])
  const circle = [0, 1, 2].map((rank) => processOf(rank, transfer('send', (rank + 1) % 3)))
  const [deadlock] = find(processOf(3, transfer('send', 0)), ...circle)
  t.match(deadlock, { why: 'deadlock', late: [] })
  t.strictSame(ranksOf(deadlock?.waiting), [0, 1, 2], 'the process that sends to it is not in it')
})

/** A thread in a call of its communicator with this root. */
const rooted = (root: number | null, number = 6, communicator = 'world') => ({
  ...{ ...collective('MPI_Reduce', number, communicator), peer: root },
})

const inReduce = (rank: number, root: number | null) =>
  processOf(rank, rooted(root), { begun: { world: 6 } })

t.test('members of a communicator name the same root', async (t) => {
  const [stuck, ...others] = find(inReduce(0, 0), inReduce(1, 0), inReduce(2, 1))
  t.strictSame(others, [])
  t.match(stuck, { why: 'roots', call: { communicator: 'world', number: 6 }, late: [] })
  t.strictSame(ranksOf(stuck?.waiting), [0, 1, 2])
  const inSeventh = processOf(1, collective('MPI_Barrier', 7), { begun: { world: 7 } })
  const [left] = find(inReduce(0, 0), inSeventh, inReduce(2, 1))
  t.match(left, { why: 'roots' })
  t.strictSame(ranksOf(left?.waiting), [0, 1, 2], 'the process that has left waits for the others')
})

t.test('roots that are not known, or of different calls, do not differ', async (t) => {
  t.match(find(inReduce(0, 0), inReduce(1, null), inReduce(2, 0)), [{ why: 'stalled' }])
  const [of, half] = [{ world: 5, '2-ab-0': 2 }, '2-ab-0']
  const inHalf = (rank: number, root: number, number: number) =>
    processOf(rank, rooted(root, number, half), { begun: { ...of, [half]: number } })
  const [stuck] = find(inHalf(0, 0, 2), inHalf(1, 1, 3), processOf(2, NO_CALL))
  t.not(stuck?.why, 'roots')
})

t.test('no process leaves a collective call that all have begun', async (t) => {
  const since = (rank: number, from: number) =>
    processOf(rank, { ...collective('MPI_Allreduce', 6), since: from }, { begun: { world: 6 } })
  const all = { communicator: 'world', number: 6 }
  const [stuck, ...others] = find(since(0, 5), since(1, 10), since(2, 30))
  t.strictSame(others, [])
  t.match(stuck, { why: 'stalled', late: [], unrecorded: 0 })
  t.strictSame(stuck?.stalled, { call: all, processes: 3, seconds: 70 }, 'since the last has come')
  const inSeventh = processOf(2, collective('MPI_Barrier', 7), { begun: { world: 7 } })
  const [left, ...more] = find(inSixth(0), inSixth(1), inSeventh)
  t.strictSame(more, [])
  t.strictSame(left?.stalled, { call: all, processes: 3, seconds: 50 })
  const computes = processOf(2, NO_CALL, { begun: { world: 6 }, cpu: 1 })
  t.strictSame(find(inSixth(0), inSixth(1), computes), [], 'it may have to send their data')
})

t.test('a process that was stopped or killed in the call of the others is named', async (t) => {
  const halted = (facts: Facts) =>
    processOf(2, collective('MPI_Allreduce', 6), { begun: { world: 6 }, ...facts })
  for (const [facts, activity] of [
    [{ processState: 'stopped' }, { is: 'stopped' }],
    [
      { state: 'lost', endedAt: 950, at: 940 },
      { is: 'ended', state: 'lost' },
    ],
  ] as const) {
    const [stuck, ...others] = find(inSixth(0), inSixth(1), halted(facts))
    t.strictSame(others, [])
    t.match(stuck, { why: 'late', late: [{ activity, isInCall: true }] })
    t.strictSame([ranksOf(stuck?.waiting), ranksOf(stuck?.late)], [[0, 1], [2]])
  }
})

t.test('calls that wait for processes of other jobs are not stalled', async (t) => {
  const accepts = (rank: number) =>
    processOf(rank, collective('MPI_Comm_accept', 6), { begun: { world: 6 } })
  t.strictSame(find(accepts(0), accepts(1), accepts(2)), [])
  const receives = { ...transfer('receive', null), communicator: 'jobs-3-abcd-0' }
  t.strictSame(find(...[0, 1, 2].map((rank) => processOf(rank, receives))), [])
})

/** A thread in a call on a window since 40 s. */
const onWindow = (call: string): OpenThread => ({ ...NO_CALL, call, since: 40 })

t.test('a process in a call on a window waits like the others', async (t) => {
  for (const call of ['MPI_Win_fence', 'MPI_Win_flush_local_all', 'MPI_Get', 'MPI_Rput_c']) {
    const [stuck, ...others] = find(inSixth(0), inSixth(1), processOf(2, onWindow(call)))
    t.strictSame(others, [])
    t.match(stuck, { why: 'stalled', stalled: { call: null, processes: 3, seconds: 50 } }, call)
    t.strictSame(ranksOf(stuck?.waiting), [0, 1, 2])
  }
  const computes = processOf(1, NO_CALL, { cpu: 1 })
  const [late] = find(inSixth(0), computes, processOf(2, onWindow('MPI_Win_fence')))
  t.strictSame([late?.why, ranksOf(late?.late)], ['late', [1]], 'the fence may wait for it, too')
  const [posts] = find(inSixth(0), inSixth(1), processOf(2, onWindow('MPI_Win_post')))
  t.strictSame([posts?.why, ranksOf(posts?.late)], ['late', [2]], 'the call waits for nobody')
})

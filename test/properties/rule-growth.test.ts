import t, { type Test } from 'tap'
import { addPodToEvidence } from '../../src/runs/evidence/evidence.ts'
import { groupByPod } from '../../src/runs/evidence/run-evidence.ts'
import { findFindings } from '../../src/runs/findings/evaluate.ts'
import type { Cell, Sample } from '../../src/runs/log/columns.ts'
import { roleIn } from '../../src/runs/profiles/python-waits.ts'
import { groupStacks } from '../../src/runs/stacks/groups.ts'
import { listMembers } from '../../src/runs/stacks/members.ts'
import { readPodStacks } from '../../src/runs/stacks/pod-stacks.ts'
import { renderTree } from '../../src/runs/stacks/tree.ts'
import {
  DESCRIPTIONS,
  endOf,
  evidenceOf,
  type PodOptions,
  podOf,
  podRows,
} from '../src/runs/findings/rows.ts'
import { answerOf } from '../src/runs/stacks/answers.ts'

// Whoever writes a log chooses its rows. Eight times the rows must not take much more than eight
// times as long, whatever their keys are: the page of a run, `top` and the archive read logs of
// others. With quadratic time, it would be 64 times.

/** The numbers of things of the smaller and the larger input. */
const SMALL = 200
const LARGE = 8 * SMALL
/** More than eight: sorting, and memory that no longer fits into the caches of a processor. */
const MAX_TIMES = 12
const RUNS = 3
const MAX_ATTEMPTS = 3

type Cells = Readonly<Record<string, Cell>>

const counted = (count: number) => Array.from({ length: count }, (_, index) => index)

/** Returns a row of a pod; `pid` is 100 by default. */
function row(pod: string, place: string, seconds: number, cells: Cells): Sample {
  const [metric = '', section = ''] = place.split(' ')
  const known = DESCRIPTIONS.get(metric)?.sections.find(({ name }) => name === section)
  const columns = (known?.columns ?? []).map(({ name }) => [name, cells[name] ?? null] as const)
  const time = new Date(1.79e12 + seconds * 1000).toISOString()
  return {
    ...{ kind: known?.of ?? 'pod', source: `hpc/job-${pod}-abcde/${metric}`, metric },
    ...{ namespace: 'hpc', pod: `job-${pod}-abcde`, node: 'node-1', pod_index: pod },
    ...{ timepoint: seconds, time, seconds, interval: 60, section },
    ...Object.fromEntries(columns),
    ...{ container: cells.container ?? 'app', program: cells.program ?? 'lmp' },
    ...{ pid: cells.pid ?? 100 },
  } as Sample
}

/** Rows of a healthy pod, at three timepoints. */
function rowsOf(pod: number, changes: Parameters<typeof podRows>[1], options: PodOptions = {}) {
  return podRows(String(pod), changes, { step: 60, ...options })
}

const RANK = { mpi_library: 'MPICH 4.0.2', job: '1', state: 'running', elapsed: 1000 }

/** The rows of a process of MPI with an identifier of its job, which does nothing. */
function rank(place: number, size: number, cells: Cells = {}): Sample {
  const own = { mpi_rank: place, mpi_size: size, mpi_seconds: 500, calls: 1, bytes: 0 }
  return row(String(place), 'mpi-trace rank', 0, { ...RANK, ...own, ...cells })
}

/** The rows of a thread in a call at two timepoints; `call` is null for one in no call. */
function open(place: number, cells: Cells, thread = 100): readonly Sample[] {
  return [60, 120].map((seconds) =>
    row(String(place), 'mpi-trace open', seconds, {
      ...{ mpi_rank: place, thread, since: 0, elapsed: 900 + seconds, longest_gap: 1 },
      ...{ process_state: 'sleeping', cpu_time: 5, ...cells },
    }),
  )
}

/** The rows of the communicators of a process, with the number of calls that it has begun. */
function progress(place: number, communicator: string, size: number, begun: number): Sample {
  return row(String(place), 'mpi-trace progress', 0, {
    ...{ mpi_rank: place, communicator, size, begun },
  })
}

const barrier = (communicator: string, number: number): Cells => ({
  ...{ call: 'MPI_Barrier', communicator, number, mpi_peer: 'none', transfer: null },
})

const receive = (peer: number): Cells => ({
  ...{ call: 'MPI_Recv', communicator: 'world', number: null },
  ...{ mpi_peer: String(peer), transfer: 'receive' },
})

const RAS = { state: 'answered', scope: 'pod', own_ranks: 1, without_change: 400, longest_gap: 1 }

function answer(pod: string): Sample {
  return row(pod, 'nccl-ras service', 60, RAS)
}

function communicator(pod: string, name: string, size: number): Sample {
  return row(pod, 'nccl-ras communicator', 60, {
    ...{ communicator: name, size, ranks_missing: 0, ranks_behind: 1, ranks_ahead: size - 1 },
    ...{ operation: 'AllReduce', launched: 100 },
  })
}

function ncclRank(pod: string, name: string, place: number, host: string, pid: number): Sample {
  const behind = place % 2
  return row(pod, 'nccl-ras rank', 60, {
    ...{ communicator: name, nccl_rank: place, host, nccl_pid: pid, state: 'running' },
    ...{ launched: 100 - behind, operation: 'AllReduce', behind, without_change: 400 },
  })
}

function ncclProcess(pod: string, addresses: string, pid: number): Sample {
  return row(pod, 'nccl-ras process', 60, {
    ...{ container: `c${pid}`, program: 'train.py', pid, addresses, process_state: 'sleeping' },
    ...{ world_rank: 0, cpu_time: 1 },
  })
}

/** The stack of the main thread of a process of Python that has not changed for long. */
function stackNow(pod: string, pid: number, stack: string): readonly Sample[] {
  const now = { program: 'train.py', pid, thread: pid, threads: 'main', activity: 'waiting' }
  const whole = { program: 'train.py', pid, main_seconds: 100, main_running: 50, state: 'running' }
  return [
    row(pod, 'python-profile process', 60, whole),
    row(pod, 'python-profile now', 60, { ...now, unchanged: 900, stack }),
  ]
}

const ALL_REDUCE = 'all_reduce (torch/distributed/distributed_c10d.py:9)'
const NEXT = '__next__ (torch/utils/data/dataloader.py:9)'
const LOADING =
  '_worker_loop (torch/utils/data/_utils/worker.py:1);fetch (torch/utils/data/_utils/fetch.py:2)'

/** A function of a profile of a pod. */
function profiled(pod: string, name: string, self_seconds: number): Sample {
  return row(pod, 'cpu-profile function', 120, {
    ...{ function: name, library: 'a.so', samples_self: 100, samples_total: 100 },
    ...{ self_seconds, total_seconds: self_seconds },
  })
}

function line(pod: string, name: string, wall: number, running: number): Sample {
  return row(pod, 'python-profile function', 120, {
    ...{ program: 'train.py', threads: 'main', function: name, samples_self: 100 },
    ...{ samples_total: 100, self_wall: wall, self_running: running },
    ...{ total_wall: wall, total_running: running },
  })
}

interface Input {
  readonly rows: readonly Sample[]
  /** Whether the containers of all pods failed. */
  readonly hasFailed?: boolean
}

/** For each input: the rows of a number of things. */
const INPUTS: Readonly<Record<string, (count: number) => Input>> = {
  'pods that failed, each with a finding': (count) => ({
    rows: counted(count).flatMap((pod) => rowsOf(pod, {}, { only: ['container'] })),
    hasFailed: true,
  }),
  'processes that wait for one processor': (count) => ({
    rows: counted(count).flatMap((pod) =>
      rowsOf(
        pod,
        {
          placement: { cpus_allowed: '0', cpus_allowed_count: 1 },
          process: { run_delay: 0.9, cpu_time: 0.1 },
        },
        { only: ['placement', 'process'] },
      ),
    ),
  }),
  'pods of which a third works more': (count) => ({
    rows: counted(count).flatMap((pod) =>
      rowsOf(pod, { perf: { percent_cpu: pod % 3 === 0 ? 90 : 20 } }, { only: ['perf'] }),
    ),
  }),
  'idle pods that wait in a line of their own': (count) => ({
    rows: counted(count).flatMap((pod) => [
      ...rowsOf(pod, { perf: { percent_cpu: 1 } }, { only: ['perf', 'gpu'] }),
      ...stackNow(`${pod}`, 100, 'main (a.py:1)'),
      line(`${pod}`, `f${pod} (a.py:1)`, 90, 1),
    ]),
  }),
  'pods whose counters of TCP are those of their nodes': (count) => ({
    rows: counted(count).flatMap((pod) =>
      rowsOf(pod, { tcp: { scope: 'node', retransmitted: 500 } }, { only: ['tcp'] }),
    ),
  }),
  'containers of one pod that are throttled': (count) => ({
    rows: counted(count).flatMap((place) =>
      rowsOf(
        0,
        {
          container: { container: `c${place}`, nr_periods: 10, nr_throttled: 9, throttled: 0.5 },
          process: { container: `c${place}`, run_delay: 0.9, cpu_time: 0.1 },
        },
        { only: ['container', 'process'] },
      ),
    ),
  }),
  'functions of a profile, each of another pod': (count) => ({
    rows: counted(count).flatMap((pod) => [
      ...rowsOf(pod, {}, { only: ['profile'] }),
      profiled(`${pod}`, `f${pod}`, 10),
    ]),
  }),
  'lines of Python in which all but one pod wait, and each runs in its own': (count) => ({
    rows: counted(count).flatMap((pod) => [
      ...stackNow(`${pod}`, 100, 'main (a.py:1)'),
      line(`${pod}`, `f${pod} (a.py:1)`, 40, 40),
      ...(pod === 0
        ? [line('0', 'late (a.py:2)', 60, 60)]
        : [line(`${pod}`, 'all (a.py:3)', 60, 1)]),
    ]),
  }),
  'ranks of which half wait in a barrier for the others': (count) => ({
    rows: counted(count).flatMap((place) => [
      rank(place, count),
      ...open(place, place % 2 === 0 ? barrier('world', 2) : { call: null }),
      progress(place, 'world', count, place % 2 === 0 ? 2 : 1),
    ]),
  }),
  'ranks in pairs that wait for each other': (count) => ({
    rows: counted(count).flatMap((place) => [
      rank(place, count),
      ...open(place, receive(place ^ 1)),
    ]),
  }),
  'ranks that wait for each other in a chain': (count) => ({
    rows: counted(count).flatMap((place) => [
      rank(place, count),
      ...open(place, place + 1 < count ? receive(place + 1) : { call: null }),
    ]),
  }),
  'ranks in communicators of three that lead to one another': (count) => ({
    rows: counted(count).flatMap((place) => [
      rank(place, count),
      ...open(place, place + 2 < count ? barrier(`c${place}`, 1) : { call: null }),
      progress(place, `c${place}`, 3, 1),
      ...[1, 2].flatMap((less) =>
        place < less ? [] : [progress(place, `c${place - less}`, 3, 0)],
      ),
    ]),
  }),
  'ranks that are in another call of one communicator each': (count) => ({
    rows: counted(count).flatMap((place) => [
      rank(place, count),
      ...open(place, barrier('world', place + 1)),
      progress(place, 'world', count, place + 1),
    ]),
  }),
  'ranks that wait for one with many threads': (count) => ({
    rows: counted(count).flatMap((place) => [
      rank(place, count),
      ...open(place, receive(0)),
      ...open(0, receive(0), 1000 + place),
    ]),
  }),
  'ranks of many jobs in MPI_Init': (count) => ({
    rows: counted(count).flatMap((place) =>
      [60, 120].map((seconds) =>
        row(`${place}`, 'mpi-trace start', seconds, {
          ...{ mpi_rank: 0, mpi_size: 2, job: `${place}`, call: 'MPI_Init', waited: 900 },
          ...{ process_state: 'sleeping', cpu_time: 1 },
        }),
      ),
    ),
  }),
  'ranks of one job in MPI_Init, each in another pod': (count) => ({
    rows: counted(count).flatMap((place) =>
      [60, 120].map((seconds) =>
        row(`${place}`, 'mpi-trace start', seconds, {
          ...{ mpi_rank: place, mpi_size: count, job: '1', call: 'MPI_Init', waited: 900 },
          ...{ process_state: 'sleeping', cpu_time: 1 },
        }),
      ),
    ),
  }),
  'a process with many calls, that waits for many others': (count) => ({
    rows: [
      ...counted(count).flatMap((place) => [
        rank(place, count, { state: 'finalized', mpi_seconds: 400 }),
        ...(place === 0 ? [] : blockOf(place, `c${place}`, 1)),
      ]),
      ...counted(count).flatMap((place) => [
        row('0', 'mpi-trace call', 0, {
          ...{ mpi_rank: 0, call: 'MPI_Allreduce', communicator: `c${place}`, mpi_peer: 'none' },
          ...{ calls: 1, mpi_seconds: 1, max_ms: 1, bytes: 1 },
        }),
        ...(place === 0 ? [] : blockOf(0, `c${place}`, 300)),
      ]),
    ],
  }),
  'a process whose communicator has many rows': (count) => ({
    rows: [
      ...counted(2).map((place) => rank(place, 2, { state: 'finalized' })),
      ...counted(count).flatMap((block) => blockOf(0, 'world', 300, block)),
    ],
  }),
  'communicators of NCCL of which one pod has many processes': (count) => ({
    rows: [
      answer('0'),
      ...counted(count).flatMap((place) => [
        communicator('0', `c${place}`, 2),
        ncclRank('0', `c${place}`, 0, '10.0.0.1', place),
        ncclRank('0', `c${place}`, 1, '10.0.0.1', place),
        ncclProcess('0', '10.0.0.1', place),
      ]),
    ],
  }),
  'ranks of NCCL, each in another pod': (count) => ({
    rows: [
      answer('0'),
      communicator('0', 'all', count),
      ...counted(count).flatMap((place) => [
        ncclRank('0', 'all', place, `10.${place}`, place),
        ncclProcess(`${place}`, `10.${place}`, place),
      ]),
    ],
  }),
  'ranks of NCCL of which all pods have the address and the process id': (count) => ({
    rows: [
      answer('0'),
      communicator('0', 'all', count),
      ...counted(count).flatMap((place) => [
        ncclRank('0', 'all', place, '10.0.0.1', 7),
        ncclProcess(`${place}`, '10.0.0.1', 7),
      ]),
    ],
  }),
  'processes of Python of which half wait for the others': (count) => ({
    rows: counted(count).flatMap((pod) =>
      stackNow(`${pod}`, 100, pod % 2 === 0 ? `main (a.py:1);${ALL_REDUCE}` : 'main (a.py:2)'),
    ),
  }),
  'processes of Python that wait for many workers': (count) => ({
    rows: counted(count).flatMap((place) => [
      ...stackNow('0', 3 * place, `main (a.py:1);${ALL_REDUCE}`),
      ...stackNow('0', 3 * place + 1, `main (a.py:1);${NEXT}`),
      ...stackNow('0', 3 * place + 2, `main (a.py:1);${LOADING}`),
    ]),
  }),
  'logs of one process of PyTorch, each with a process group': (count) => ({
    rows: counted(8 * count).map((place) => ({
      ...row('0', 'torch-collectives group', 60, {
        ...{ world_rank: 0, group: `${place}`, description: '', size: 2, members: '0-1' },
      }),
      source: `hpc/job-0-abcde/torch-${place}`,
    })),
  }),
  'members of process groups of PyTorch': (count) => ({
    rows: counted(count).flatMap((place) => [
      row(`${place}`, 'torch-collectives process', 60, {
        ...{ world_rank: place, world_size: count, state: 'running', copies: 2 },
      }),
      row(`${place}`, 'torch-collectives group', 60, {
        ...{ world_rank: place, group: '0', description: '', size: count, members: '0-9' },
      }),
      ...counted(4).map((number) =>
        row(`${place}`, 'torch-collectives collective', 60, {
          ...{ world_rank: place, group: '0', number, operation: 'all_reduce' },
          called: 1000 + 10 * number + place / count,
        }),
      ),
    ]),
  }),
}

/** A call of a process in a communicator of two members, with its block. */
function blockOf(place: number, name: string, mpi_seconds: number, first = 0): readonly Sample[] {
  const own = { mpi_rank: place, communicator: name, collectives: 1, mpi_seconds }
  return [
    row(`${place}`, 'mpi-trace communicator', 0, { ...own, size: 2 }),
    row(`${place}`, 'mpi-trace block', 0, { ...own, first }),
  ]
}

/** Returns a function that applies all rules to rows, which are read first. */
function rulesOn({ rows, hasFailed = false }: Input): () => void {
  const pods = [...new Set(rows.map(({ pod_index }) => pod_index ?? ''))]
  const evidence = evidenceOf(rows)
  const ended = hasFailed ? [endOf({ exitCode: 1, seconds: 60 })] : []
  for (const source of new Set(rows.map((one) => one.source)))
    addPodToEvidence(evidence, { source, ended, podLimits: null, summary: [] })
  return () => {
    findFindings(groupByPod(evidence, podOf), pods)
  }
}

/** The milliseconds of processor time of the fastest of several runs: machines can be busy. */
function best(run: () => void): number {
  const times = counted(RUNS).map(() => {
    const start = process.cpuUsage()
    run()
    const { user, system } = process.cpuUsage(start)
    return (user + system) / 1000
  })
  return Math.min(...times)
}

/**
 * Checks that a function takes at most twelve times as long for eight times the input. On a busy
 * machine, one measurement can be wrong by half; quadratic time is wrong in all.
 */
function takesLinearTime(t: Test, build: (count: number) => () => void): void {
  const [small, large] = [build(SMALL), build(LARGE)]
  let times = [0, Number.POSITIVE_INFINITY]
  const isLinear = () => (times[1] ?? 0) <= MAX_TIMES * (times[0] ?? 0)
  for (let attempt = 0; attempt < MAX_ATTEMPTS && !isLinear(); attempt += 1)
    times = [best(small), best(large)]
  const [few, many] = times.map((time) => time.toFixed(1))
  t.ok(isLinear(), `${few} ms, and ${many} ms for eight times the input`)
}

for (const [what, build] of Object.entries(INPUTS)) {
  t.test(`the rules take linear time for ${what}`, async (t) =>
    takesLinearTime(t, (count) => rulesOn(build(count))),
  )
}

t.test('the names of frames of Python take linear time', async (t) =>
  takesLinearTime(t, (count) => {
    // Each of these could be the end of the class, of the function or of a folder.
    const frame = '. (/'.repeat(count)
    return () => {
      for (const _ of counted(100)) roleIn(frame)
    }
  }),
)

/** For each input: the processes of a pod that has answered, as `[pid, parent]`. */
const ANCESTORS: Readonly<Record<string, (place: number, count: number) => readonly number[]>> = {
  'a chain of parents': (place) => [place + 1, place],
  'a circle of parents': (place, count) => [place + 1, place === 0 ? count : place],
}

for (const [what, parentOf] of Object.entries(ANCESTORS)) {
  t.test(`the stacks of ${what} take linear time`, async (t) => {
    takesLinearTime(t, (count) => {
      const processes = counted(8 * count).map((place) => {
        const [pid = 0, parent = 0] = parentOf(place, 8 * count)
        return { pid, parent, rank: place, threads: [{ stack: ['main', 'f'] }] }
      })
      const text = answerOf(processes)
      return () => {
        const answer = readPodStacks(text) ?? { why: 'the answer is not whole' }
        const members = listMembers([{ pod: 'a', pod_index: '0', answer }], { all: false })
        renderTree(groupStacks(members, { full: false, native: false }), 100)
      }
    })
  })
}

import type { RuleName } from '../../../../src/runs/findings/rules.ts'
import { endOf, findIn, LENGTH, type PodOptions, podRows, type Sections } from './rows.ts'

export const PODS = ['0', '1', '2', '3', '4']

/** Returns the rows of a run of five pods: pod 3 with the changes, and four healthy pods. */
export function rowsWith(changes: Sections, options: PodOptions = {}) {
  return PODS.flatMap((pod) => (pod === '3' ? podRows(pod, changes, options) : podRows(pod)))
}

/** Returns how the containers of the pods of such a run ended. */
export function endedWith({ ended = [] }: PodOptions) {
  return (pod: string) => (pod === '3' ? ended : [])
}

/** Returns the findings of such a run. */
export function findWith(changes: Sections, options: PodOptions = {}) {
  return findIn(rowsWith(changes, options), endedWith(options))
}

/** A pod about which a rule makes a finding, and a similar pod about which it makes none. */
export interface Case {
  /** The cells with which the rule makes its finding. */
  readonly changes: Sections
  readonly options?: PodOptions
  /** The cells with which the rule makes no finding, most of them just below the threshold. */
  readonly below: Sections
  readonly belowOptions?: PodOptions
  /** The seconds that the pod lost; null if the finding has none. */
  readonly lost: number | null
}

const MIB = 1024 * 1024

/** The cells of a stack in the data loader of PyTorch, a tenth of which runs. */
const inLoader = (wall: number) => ({
  stack:
    '<module> (train.py:60);_BaseDataLoaderIter.__next__ (torch/utils/data/dataloader.py:701);' +
    'Queue.get (multiprocessing/queues.py:113)',
  ...{ samples: 100 * wall, wall, running: wall / 10 },
})

/** The cells of a pod that computes for this part of the time; above 1, on two processors. */
export const busy = (part: number) => ({
  container: { cpu_usage: part },
  process: { cpu_time: part },
  perf: { percent_cpu: part * 100 },
})

/** The cells of a process that may only run on processor 7, and runs nearly half of the time. */
export const pinned = (run_delay: number): Sections => ({
  process: { run_delay, cpu_time: 0.475 },
  placement: { cpus_allowed: '7', cpus_allowed_count: 1, pss: 1024 },
  perf: { percent_cpu: 47.5 },
})

const TORCH = ['torch', 'group', 'collective'] as const

/**
 * The cells of a process of a process group with two members, which calls an operation every five
 * seconds with this delay.
 */
export function torchProcess(rank: number, delay: number): Sections {
  return {
    torch: { world_rank: rank },
    group: { world_rank: rank, size: 2, members: '0-1' },
    collective: {
      ...{ world_rank: rank, number: (seconds) => seconds / 5 },
      called: (seconds) => 1000 + seconds + delay,
    },
  }
}

/**
 * The cells of a process of an MPI job with two processes: the time in MPI and in its collective
 * calls, as parts of the run, and the time in calls of MPI_Wait for the other one.
 */
export const mpiProcess = (mpi_rank: number, inMpi: number, collective: number, wait = 0) => ({
  ...busy(0.47),
  mpi: { mpi_rank, mpi_size: 2, job: '77', mpi_seconds: inMpi },
  communicator: { mpi_rank, size: 2, collectives: 10, mpi_seconds: collective },
  block: { mpi_rank, mpi_seconds: collective * LENGTH },
  call:
    wait > 0
      ? { mpi_rank, call: 'MPI_Wait', mpi_peer: String(1 - mpi_rank), mpi_seconds: wait }
      : { mpi_rank, mpi_seconds: collective },
})

/**
 * The cells of a process of such a job that waits in its sixth collective call from 20 s on, or of
 * one that has made five, and is in this state.
 */
export const waiting = {
  ...mpiProcess(0, 0.05, 0.02),
  open: {
    ...{ mpi_rank: 0, call: 'MPI_Allreduce', communicator: 'world', number: 6 },
    ...{ mpi_peer: 'none', since: 20 },
  },
  progress: { mpi_rank: 0, size: 2, begun: 6 / LENGTH },
} satisfies Sections
export const absent = (process_state: string, since: (seconds: number) => number): Sections => ({
  ...mpiProcess(1, 0.05, 0.02),
  open: { mpi_rank: 1, process_state, since, cpu_time: 0 },
  progress: { mpi_rank: 1, size: 2, begun: 5 / LENGTH },
})

/** For each rule, a pod with the finding of this rule and no other finding. */
export const CASES: Readonly<Record<RuleName, Case>> = {
  'oom-killed': {
    changes: { container: { oom_kill: 1 / 60, oom: 1 / 60 } },
    below: { container: { oom_kill: 0 } },
    lost: null,
  },
  'container-failed': {
    changes: {},
    options: { ended: [endOf({ exitCode: 139, seconds: 62 })] },
    below: {},
    belowOptions: { ended: [endOf({ exitCode: 143, deleted: true })] },
    lost: null,
  },
  'no-progress': {
    changes: waiting,
    options: { others: [absent('stopped', () => 21)] },
    below: waiting,
    belowOptions: { others: [absent('sleeping', (seconds) => seconds - 9)] },
    lost: 100,
  },
  'memory-pressure': {
    changes: { container: { memory_some: 0.2, memory_full: 0.15, io_full: 0.15 } },
    below: { container: { memory_some: 0.14 } },
    lost: 0.15 * LENGTH,
  },
  swapping: {
    changes: { process: { majflt: 150 }, container: { io_full: 0.3 } },
    below: { process: { majflt: 90 } },
    lost: 0.3 * LENGTH,
  },
  'memory-growing': {
    changes: { container: { memory_anon: (seconds) => (300 + 4 * seconds) * MIB } },
    options: { step: 2 },
    below: { container: { memory_anon: (seconds) => (300 + 2.9 * seconds) * MIB } },
    belowOptions: { step: 2 },
    lost: null,
  },
  'close-to-memory-limit': {
    changes: { container: { memory_anon: 970 * MIB, memory_peak: 990 * MIB } },
    // Pages of files fill the container up to its limit, and a process has mapped most of them.
    below: {
      container: { memory_current: 1024 * MIB, memory_peak: 1024 * MIB, memory_max: 50 },
      placement: { pss: 1000 * 1024 },
    },
    lost: null,
  },
  throttled: {
    changes: {
      ...busy(0.5),
      container: {
        nr_periods: 10,
        nr_throttled: 5,
        throttled: 0.5,
        cpu_usage: 0.5,
        cpu_limit: 0.5,
      },
      process: { run_delay: 0.5, cpu_time: 0.5 },
    },
    below: { container: { nr_periods: 10, nr_throttled: 2.4, throttled: 0.05, cpu_limit: 1 } },
    lost: 0.5 * LENGTH,
  },
  'pinned-to-same-core': {
    changes: pinned(0.475),
    options: { others: [pinned(0.475)] },
    below: pinned(0.09),
    belowOptions: { others: [pinned(0.09)] },
    lost: 0.475 * LENGTH,
  },
  'waiting-for-cpu': {
    changes: { process: { run_delay: 0.3, cpu_time: 0.65 } },
    below: { process: { run_delay: 0.09, cpu_time: 0.85 } },
    lost: 0.3 * LENGTH,
  },
  'waiting-for-storage': {
    changes: { container: { io_some: 0.2, io_full: 0.1 } },
    below: { container: { io_some: 0.2, io_full: 0.04 } },
    lost: 0.1 * LENGTH,
  },
  retransmissions: {
    changes: { tcp: { retransmitted: 15, timeouts: 0.5 } },
    below: { tcp: { retransmitted: 9, timeouts: 0.5 } },
    lost: null,
  },
  'network-bound': {
    changes: { ...busy(0.2), socket: { send_queue: 100_000 } },
    // The process computes while its data is sent.
    below: { ...busy(0.9), socket: { send_queue: 100_000 } },
    lost: 0.8 * LENGTH,
  },
  'remote-memory': {
    changes: { placement: { numa: '0:400000 1:112000', numa_remote: 112_000 } },
    below: { placement: { numa: '0:420000 1:92000', numa_remote: 92_000 } },
    lost: null,
  },
  'more-work': {
    changes: busy(1.9),
    below: busy(1.1),
    // The other pods compute all the time, too.
    lost: null,
  },
  'more-time-in-function': {
    changes: { function: { self_seconds: 160, samples_self: 16_000 } },
    below: { function: { self_seconds: 99, samples_self: 9900 } },
    lost: null,
  },
  'much-time-in-data-loader': {
    changes: { stack: inLoader(30) },
    options: { others: [{}], only: ['python', 'stack'] },
    below: { stack: inLoader(9.9) },
    belowOptions: { others: [{}], only: ['python', 'stack'] },
    lost: 0.25 * LENGTH,
  },
  'all-wait-for-one': {
    changes: { line: { function: 'augment (data.py:80)', self_running: 40, total_running: 40 } },
    below: { line: { self_wall: 51, self_running: 40 } },
    lost: null,
  },
  'waiting-in-python': {
    changes: { line: { self_wall: 70, samples_self: 7000 } },
    below: { line: { self_wall: 49, samples_self: 4900 } },
    lost: null,
  },
  'gpu-memory-nearly-full': {
    changes: { gpu: { memory_used: 15_729 * MIB } },
    below: { gpu: { memory_used: 15_500 * MIB } },
    lost: null,
  },
  'gpu-throttled': {
    changes: { gpu: { heat_limited: (seconds) => (seconds <= 20 ? 1 : 0) } },
    below: { gpu: { heat_limited: (seconds) => (seconds <= 10 ? 1 : 0) } },
    lost: null,
  },
  'gpu-idle-while-python-waits': {
    changes: { gpu: { gpu_busy: 5 } },
    below: { gpu: { gpu_busy: 9 } },
    lost: 40 - 0.05 * LENGTH,
  },
  'late-in-torch-collectives': {
    changes: torchProcess(0, 0),
    options: { step: 5, others: [torchProcess(1, 2)], only: TORCH },
    below: torchProcess(0, 0),
    belowOptions: { step: 5, others: [torchProcess(1, 0.9)], only: TORCH },
    lost: null,
  },
  'waiting-in-collectives': {
    changes: mpiProcess(0, 0.35, 0.32),
    options: { others: [mpiProcess(1, 0.05, 0.02)] },
    below: mpiProcess(0, 0.23, 0.21),
    belowOptions: { others: [mpiProcess(1, 0.05, 0.02)] },
    lost: 0.3 * LENGTH,
  },
  'waiting-in-point-to-point': {
    changes: mpiProcess(0, 0.5, 0, 0.45),
    options: { others: [mpiProcess(1, 0.1, 0)] },
    // The other process has 23 % more to do, and the load balance is 91 %.
    below: mpiProcess(0, 0.27, 0, 0.25),
    belowOptions: { others: [mpiProcess(1, 0.1, 0)] },
    lost: 0.4 * LENGTH,
  },
  'much-time-in-mpi': {
    changes: mpiProcess(0, 0.4, 0.1),
    options: { others: [mpiProcess(1, 0.3, 0.1)] },
    below: mpiProcess(0, 0.4, 0.1),
    belowOptions: { others: [mpiProcess(1, 0.19, 0.1)] },
    lost: null,
  },
  'mostly-idle': {
    // It does not wait in a line of Python for long enough to name it.
    changes: { ...busy(0.02), line: { self_wall: 10 } },
    below: busy(0.12),
    lost: null,
  },
}

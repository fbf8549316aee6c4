import type { Cell, Sample } from '../../../../../src/runs/log/columns.ts'

// Builds rows of python-profile for tests. A test chooses their numbers; no observer wrote them.

/** The seconds between two timepoints. */
export const INTERVAL = 10

type Cells = Readonly<Record<string, Cell>>

/** A process of Python: its pod, and how long its main thread has been where. */
export interface Shape {
  readonly index: string
  readonly pid?: number
  readonly stack: string
  readonly unchanged?: number
  readonly cells?: Cells
}

const TRAIN = '<module> (train.py:60);main (train.py:52)'

/** Stacks of ranks that wait for others, load a batch, or wait for the process that does. */
export const STACKS = {
  waits: `${TRAIN};all_reduce (torch/distributed/distributed_c10d.py:2810)`,
  loads: `${TRAIN};load_batch (data.py:41)`,
  computes: `${TRAIN};step (train.py:12)`,
  begins:
    `${TRAIN};init_process_group (torch/distributed/distributed_c10d.py:1710);` +
    '_create_c10d_store (torch/distributed/rendezvous.py:198)',
  asks:
    `${TRAIN};_BaseDataLoaderIter.__next__ (torch/utils/data/dataloader.py:708);` +
    'Queue.get (multiprocessing/queues.py:103)',
  worker:
    '<module> (<string>:1);BaseProcess.run (multiprocessing/process.py:108);' +
    '_worker_loop (torch/utils/data/_utils/worker.py:349);' +
    '_MapDatasetFetcher.fetch (torch/utils/data/_utils/fetch.py:52);load (data.py:14)',
  idleWorker:
    '<module> (<string>:1);BaseProcess.run (multiprocessing/process.py:108);' +
    '_worker_loop (torch/utils/data/_utils/worker.py:330);' +
    'Queue.get (multiprocessing/queues.py:113)',
} as const

/** The row of the main thread of a process at a time in seconds since the first timepoint. */
export function nowRow(seconds: number, { index, pid = 70, ...shape }: Shape): Sample {
  const { stack, unchanged = 0, cells = {} } = shape
  return sample(
    'now',
    { index, pid, seconds },
    {
      ...{ thread: pid, threads: 'main', activity: 'waiting', stack, unchanged, ...cells },
    },
  )
}

/** The row of a process that has ended. */
export function endRow(seconds: number, index: string, pid = 70): Sample {
  return sample('process', { index, pid, seconds }, { state: 'ended', main_seconds: seconds })
}

/** The time of the main thread of a process in a stack, in seconds. */
export interface ProfileShape {
  readonly index: string
  readonly pid?: number
  readonly stack: string
  readonly wall: number
  readonly running?: number
}

/** The last rows of a process: those of the innermost function and of its stack. */
export function profileRows({ index, pid = 70, stack, wall, running = 0 }: ProfileShape) {
  const place = { index, pid, seconds: LENGTH }
  const samples = 100 * wall
  const line = stack.split(';').at(-1) ?? ''
  const times = { self_wall: wall, self_running: running, total_wall: wall }
  return [
    sample('function', place, {
      ...{ threads: 'main', function: line, samples_self: samples, samples_total: samples },
      ...{ ...times, total_running: running },
    }),
    sample('stack', place, { threads: 'main', stack, samples, wall, running }),
  ]
}

/** The seconds after which the processes end. */
const LENGTH = 120

const OF = { now: 'thread', process: 'process', function: 'function', stack: 'stack' } as const

interface Place {
  readonly index: string
  readonly pid: number
  readonly seconds: number
}

function sample(section: keyof typeof OF, { index, pid, seconds }: Place, cells: Cells): Sample {
  const pod = `job-${index}-abcde`
  const place = {
    metric: 'python-profile',
    namespace: 'hpc',
    pod,
    node: 'node-1',
    pod_index: index,
  }
  const time = new Date(1.79e12 + seconds * 1000).toISOString()
  return {
    ...{ kind: OF[section], source: `hpc/${pod}/python-profile` },
    ...place,
    ...{ timepoint: seconds / INTERVAL, time, seconds, interval: INTERVAL, section },
    ...{ container: 'app', program: 'train.py', pid, ...cells },
  } as Sample
}

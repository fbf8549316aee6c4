/** A stack of Python: its functions with their files and lines, the outermost first. */
interface Frames {
  readonly frames: readonly string[]
}

/** A stack, and where its process is. */
interface PlacedFrames extends Frames {
  readonly container: string | null
  readonly program: string | null
}

/** Tells frames of some functions from others. */
interface FrameTest {
  readonly test: (frame: string) => boolean
}

/**
 * Returns a test for frames of functions in a file, such as `Loader.next (/lib/loader.py:40)`. Both
 * parts are matched apart: one pattern for both would try each division of a long name.
 *
 * @param functions a pattern for the names of functions without their classes
 */
function inFile(file: string, functions = '.+'): FrameTest {
  const path = new RegExp(`(^|/)${file}:\\d+\\)$`)
  const name = new RegExp(`^(${functions})$`)
  return {
    test: (frame) => {
      const end = frame.indexOf(' (')
      if (end < 0 || !path.test(frame.slice(end + 2))) return false
      // From CPython 3.11 on, the name of a function has the name of its class.
      return name.test(frame.slice(frame.lastIndexOf('.', end - 1) + 1, end))
    },
  }
}

/**
 * The innermost functions of a thread that waits for other ranks: the collective and point-to-point
 * operations of PyTorch, the beginning of a job, and the backward pass, in which
 * DistributedDataParallel exchanges gradients.
 */
const INNERMOST: readonly FrameTest[] = [
  inFile('torch/distributed/distributed_c10d\\.py'),
  inFile('torch/distributed/rendezvous\\.py'),
  inFile('torch/distributed/utils\\.py'),
  inFile('torch/autograd/graph\\.py', '_engine_run_backward'),
  inFile('horovod/torch/mpi_ops\\.py', 'synchronize'),
]

/** The functions of a thread that waits at a barrier of threads or of processes. */
const BARRIER = inFile('threading\\.py', '_wait')

/** A job that begins can wait for minutes for a rank that loads its program. */
const BEGINNING = inFile('torch/distributed/distributed_c10d\\.py', 'init_process_group')

/** The data loader of PyTorch, one of its workers, and the functions that load a batch. */
const NEXT_BATCH = inFile('torch/utils/data/dataloader\\.py', '__next__')
const WORKER = inFile('torch/utils/data/_utils/worker\\.py', '_worker_loop')
const FETCH = inFile('torch/utils/data/_utils/fetch\\.py', 'fetch')

/** The function of a worker of Ray that calls its tasks; without a task, it is the innermost. */
const IDLE = inFile('ray/_private/worker\\.py', 'main_loop')

/** The function that calls the task of a process of multiprocessing. */
const TASK = inFile('multiprocessing/process\\.py', 'run')

/**
 * The functions of processes that are no ranks. They are the first function of a process of
 * multiprocessing, the main functions of the servers of multiprocessing, and the functions in which
 * launchers of PyTorch wait for their ranks. The library multiprocess is a copy of multiprocessing.
 */
const HELPER: readonly FrameTest[] = [
  inFile('multiprocess(ing)?/process\\.py', '_bootstrap'),
  inFile('multiprocess(ing)?/(resource_tracker|forkserver)\\.py', 'main'),
  inFile('torch/multiprocessing/spawn\\.py', 'join'),
  inFile('torch/distributed/elastic/agent/server/api\\.py', '_invoke_run'),
]

/**
 * The functions of processes of multiprocessing that are ranks all the same: those that a launcher
 * of PyTorch has started, that compute gradients, or that take part in a call of all ranks.
 */
const RANK: readonly FrameTest[] = [
  inFile('torch/multiprocessing/spawn\\.py', '_wrap'),
  inFile('torch/distributed/elastic/multiprocessing/api\\.py', '_wrap'),
  inFile('torch/autograd/graph\\.py', '_engine_run_backward'),
  inFile('torch/_tensor\\.py', 'backward'),
  inFile('torch/distributed/distributed_c10d\\.py', '(?!get_|is_|_)\\w+'),
  inFile('horovod/torch/mpi_ops\\.py', 'synchronize'),
]

/** Returns what a function says about its process; undefined if it says nothing. */
export function roleIn(frame: string): 'helper' | 'rank' | undefined {
  if (WORKER.test(frame) || HELPER.some((one) => one.test(frame))) return 'helper'
  return RANK.some((one) => one.test(frame)) ? 'rank' : undefined
}

/** Returns the line in which a thread waits for other ranks; undefined if it does not. */
export function waitIn({ frames }: Frames): string | undefined {
  const innermost = frames.at(-1)
  if (innermost !== undefined && INNERMOST.some((one) => one.test(innermost))) return innermost
  return frames.find((frame) => BARRIER.test(frame))
}

/** Reports whether a process begins its job. */
export function isBeginning({ frames }: Frames): boolean {
  return frames.some((frame) => BEGINNING.test(frame))
}

/** Reports whether a process is a worker of a data loader. */
export function isLoaderWorker({ frames }: Frames): boolean {
  return frames.some((frame) => WORKER.test(frame))
}

/** Reports whether a process loads a batch itself. */
export function isLoading({ frames }: Frames): boolean {
  return frames.some((frame) => FETCH.test(frame))
}

/** Returns the function in which a process waits for the workers of its data loader. */
export function loaderWaitIn(stack: Frames): string | undefined {
  return isLoading(stack) ? undefined : stack.frames.find((frame) => NEXT_BATCH.test(frame))
}

/** Reports whether a process has no task. */
export function isIdle({ frames }: Frames): boolean {
  return IDLE.test(frames.at(-1) ?? '')
}

/**
 * Identifies processes that can be ranks of one job: those of the same program, and of
 * multiprocessing, with the same task.
 */
export function kindOf({ container, program, frames }: PlacedFrames): string {
  const at = frames.findLastIndex((frame) => TASK.test(frame))
  const task = at < 0 ? null : (frames[at + 1] ?? '').replace(/:\d+\)$/, ')')
  return JSON.stringify(task === null ? [container, program] : [container, task])
}

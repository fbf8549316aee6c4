import { maximum } from '../../../lib/statistics.ts'
import type { RunEvidence } from '../../evidence/run-evidence.ts'
import { storeOf } from '../../evidence/stores.ts'
import { wasBefore } from '../../log/clock.ts'
import {
  isBeginning,
  isIdle,
  isLoaderWorker,
  isLoading,
  kindOf,
  loaderWaitIn,
  waitIn,
} from '../../profiles/python-waits.ts'
import { joinStacks, type PythonProcess } from '../../waiting/current-stacks.ts'
import { PYTHON_STORE } from './current-stacks.ts'

/** A process of Python whose main thread waits for other processes. */
export interface WaitingPython {
  readonly process: PythonProcess
  /** The line of the library in which it waits. */
  readonly line: string
}

/** A process of Python for which others wait. */
export interface LatePython {
  readonly process: PythonProcess
  /** The processes of its data loader that load a batch, if it waits for its data loader. */
  readonly workers: readonly PythonProcess[]
}

/** Processes of Python that may make no progress. */
export interface StuckPython {
  /**
   * - `python-late`: ranks are not in a call in which others wait for them.
   * - `python-loader`: processes wait for their data loaders, and these load a batch.
   */
  readonly why: 'python-late' | 'python-loader'
  readonly waiting: readonly WaitingPython[]
  /** The processes for which they wait. With `python-loader`, these are those of data loaders. */
  readonly late: readonly LatePython[]
  /** Whether the job begins, so that a rank may still load its program. */
  readonly isBeginning: boolean
  /** The longest time for which the stack of a rank was found unchanged before, in seconds. */
  readonly longestGap: number
}

/** Returns the processes whose stacks of Python are known. */
export function pythonProcesses({ stores, podOf }: RunEvidence): readonly PythonProcess[] {
  return joinStacks(storeOf(stores, PYTHON_STORE), podOf)
}

/**
 * Finds the processes of Python for which others wait. The stacks of their main threads say that:
 * ranks that wait in a call of PyTorch, such as `all_reduce`, wait for the ranks that do not. A
 * data loader for which a process waits has other processes, which load the batch.
 *
 * The ranks of a job are the processes of the same program. Whether one of them still waits, or
 * waits again, is said by the time for which its stack has not changed.
 *
 * @param hasFailed reports whether a container of a pod ended with an error. Its processes that
 * ended last were killed where they waited, and count as if they ran. Processes of other pods that
 * have ended may have gone on before
 */
export function findStuckPython(
  all: readonly PythonProcess[],
  hasFailed: (pod: string) => boolean,
): readonly StuckPython[] {
  const latest = maximum(all.map(({ at }) => at)) ?? 0
  const isPresent = ({ at, interval, endedAt, hasEnded, pod }: PythonProcess) =>
    !wasBefore(endedAt ?? at, interval, latest) && (!hasEnded || hasFailed(pod))
  const [present, absent] = [all.filter(isPresent), all.filter((one) => !isPresent(one))]
  const still = present.map((one) => ({ ...one, hasEnded: false }))
  const workers = still.filter((one) => isLoaderWorker(one) && isLoading(one))
  const ranks = still.filter((one) => !isLoaderWorker(one) && !isIdle(one))
  const gone = absent.filter((one) => one.hasEnded && !isLoaderWorker(one))
  const goneByKind = Map.groupBy(gone, kindOf)
  const byPlace = Map.groupBy(workers, placeOf)
  return [...Map.groupBy(ranks, kindOf)].flatMap(([kind, peers]) =>
    stuckPeers(peers, goneByKind.get(kind) ?? [], byPlace),
  )
}

/** The processes of data loaders that load a batch, by their pods and containers. */
type Workers = ReadonlyMap<string, readonly PythonProcess[]>

/** @param ended processes of the same program that have ended earlier */
function stuckPeers(
  peers: readonly PythonProcess[],
  ended: readonly PythonProcess[],
  workers: Workers,
): readonly StuckPython[] {
  const waiting = peers.flatMap((process) => waitingAt(process, waitIn(process)))
  const isWaiting = new Set(waiting.map(({ process }) => process))
  const others = peers.filter((one) => !isWaiting.has(one))
  const begun = maximum(waiting.map(({ process }) => process.firstAt ?? 0)) ?? 0
  // A process that ended before others had begun can be of an earlier job.
  const late = others.length > 0 ? others : ended.filter((one) => begun <= (one.endedAt ?? 0))
  const facts = {
    isBeginning: waiting.some(({ process }) => isBeginning(process)),
    longestGap: maximum(peers.map(({ longestGap }) => longestGap)) ?? 0,
  }
  // Of ranks that wait, more than half of a job is not known to wait for one of the others.
  if (late.length > 0 && waiting.length >= late.length) {
    const described = late.map((process) => ({ process, workers: workersOf(process, workers) }))
    return [{ why: 'python-late', waiting, late: described, ...facts }]
  }
  const loading = peers.flatMap((process) => waitingAt(process, loaderWaitIn(process)))
  const places = new Set(loading.map(({ process }) => placeOf(process)))
  const own = [...places].flatMap((place) => workers.get(place) ?? [])
  if (loading.length < peers.length || own.length === 0) return []
  const described = own.map((process) => ({ process, workers: [] }))
  return [{ why: 'python-loader', waiting: loading, late: described, ...facts }]
}

function waitingAt(process: PythonProcess, line: string | undefined): readonly WaitingPython[] {
  return line === undefined ? [] : [{ process, line }]
}

/** Returns the processes of its data loader that load a batch for which a process waits. */
function workersOf(process: PythonProcess, workers: Workers): readonly PythonProcess[] {
  return loaderWaitIn(process) === undefined ? [] : (workers.get(placeOf(process)) ?? [])
}

function placeOf({ pod, container }: PythonProcess): string {
  return JSON.stringify([pod, container])
}

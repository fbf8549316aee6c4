import { countedIn } from '../findings/progress/no-progress-rule.ts'
import { describeStuckNow } from '../findings/progress/no-progress-text.ts'
import { countedPython, pythonOfPods } from '../findings/progress/python-progress.ts'
import { describePythonNow } from '../findings/progress/python-text.ts'
import { countedRanks, ranksOfPods } from '../findings/progress/ranks-progress.ts'
import { describeRanksNow } from '../findings/progress/ranks-text.ts'
import { countedStart } from '../findings/progress/start-progress.ts'
import { describeStartNow } from '../findings/progress/start-text.ts'
import type { LiveProcesses } from '../metrics/mpi-trace/live-processes.ts'
import { joinJobs } from '../metrics/mpi-trace/mpi-job.ts'
import { findStuckProcesses, type StuckProcesses } from '../metrics/mpi-trace/stuck-processes.ts'
import { findStuckStart, joinStarting, type StuckStart } from '../metrics/mpi-trace/stuck-start.ts'
import { NCCL_STORE } from '../metrics/nccl-ras/nccl-run.ts'
import { findStuckRanks, type StuckRanks } from '../metrics/nccl-ras/stuck-ranks.ts'
import { findStuckPython, type StuckPython } from '../metrics/python-profile/stuck-python.ts'
import { findStacks, joinStacks, type PythonProcess } from '../waiting/current-stacks.ts'
import { type LiveObserver, type LiveRank, silenceOf } from './ranks.ts'

/** Processes that make no progress now. */
export interface NoProgress {
  /** One sentence or more, for people. */
  readonly sentence: string
  /** The pods of the processes that wait or are late, as NAMESPACE/POD. */
  readonly pods: ReadonlySet<string>
}

/**
 * Finds the processes of MPI and Python and the ranks of NCCL that make no progress now, by the
 * same rule as the report. A process whose rows do not arrive does not count.
 *
 * @param now the current time, in milliseconds since 1970
 */
export function findNoProgress(ranks: readonly LiveRank[], now: number): readonly NoProgress[] {
  const observers = ranks.flatMap(({ observers: all }) => all.filter(hasProcesses))
  const current = observers.filter((one) => hasEnded(one) || silenceOf(one, now) === undefined)
  const calls = current.map(({ mpi }) => mpi.calls())
  const run = {
    processes: calls.flatMap(({ processes }) => processes),
    starting: new Map(calls.flatMap(({ starting }) => [...starting])),
  }
  const running = new Set(current.flatMap((one) => (hasEnded(one) ? [] : podsIn(one))))
  const isRunning = ({ source }: { readonly source: string }) => running.has(source)
  const python = readStacks(ranks, now)
  const pythonOf = findStacks(python)
  const stuck = joinJobs(run, podOf, pythonOf).flatMap(findStuckProcesses).flatMap(countedIn)
  const starts = joinStarting(run, podOf).flatMap(findStuckStart).flatMap(countedStart)
  return [
    ...starts.filter(({ waiting }) => waiting.some(isRunning)).map(describeStart),
    ...stuck.filter(({ waiting }) => waiting.some((one) => isRunning(one.process))).map(describe),
    ...findStuckNow(ranks, now, pythonOf),
    ...findStuckPython(python, () => false)
      .flatMap(countedPython)
      .map(describePython),
  ]
}

/** Returns the processes of Python whose rows arrive. */
function readStacks(ranks: readonly LiveRank[], now: number): readonly PythonProcess[] {
  const stacks = writing(ranks, now).flatMap(({ python }) => [...(python?.stacks() ?? [])])
  return joinStacks(new Map(stacks), podOf)
}

/** Finds the ranks of NCCL that make no progress now. The pod that has asked must run. */
function findStuckNow(
  ranks: readonly LiveRank[],
  now: number,
  pythonOf: ReturnType<typeof findStacks>,
): readonly NoProgress[] {
  const run = NCCL_STORE.join(writing(ranks, now).flatMap(({ nccl }) => nccl?.run() ?? []))
  return findStuckRanks(run, podOf, pythonOf).flatMap(countedRanks).map(describeRanks)
}

/** Returns the observers whose rows arrive. */
function writing(ranks: readonly LiveRank[], now: number): readonly LiveObserver[] {
  const observers = ranks.flatMap(({ observers: all }) => all)
  return observers.filter((one) => !hasEnded(one) && silenceOf(one, now) === undefined)
}

type ObserverOfMpi = LiveObserver & { readonly mpi: LiveProcesses }

function hasProcesses(observer: LiveObserver): observer is ObserverOfMpi {
  return observer.mpi !== undefined
}

function hasEnded({ isOver, log }: LiveObserver): boolean {
  return isOver || log.hasEnded()
}

function describe(stuck: StuckProcesses): NoProgress {
  const all = [...stuck.waiting, ...stuck.late]
  return {
    sentence: describeStuckNow(stuck),
    pods: new Set(all.map(({ process }) => podOf(process.source))),
  }
}

function describeStart(stuck: StuckStart): NoProgress {
  const all = [...stuck.waiting, ...stuck.late.map(({ member }) => member)]
  return {
    sentence: describeStartNow(stuck),
    pods: new Set(all.map(({ source }) => podOf(source))),
  }
}

function describeRanks(stuck: StuckRanks): NoProgress {
  const pods = new Set(ranksOfPods(stuck).map(({ pod }) => pod))
  return { sentence: describeRanksNow(stuck), pods }
}

function describePython(stuck: StuckPython): NoProgress {
  const pods = new Set(pythonOfPods(stuck).map(({ pod }) => pod))
  return { sentence: describePythonNow(stuck), pods }
}

/** The source of the rows of a live log is its pod. */
function podOf(source: string): string {
  return source
}

function podsIn({ mpi }: ObserverOfMpi): readonly string[] {
  const { processes, starting } = mpi.calls()
  return [...processes, ...starting.values()].map(({ source }) => source)
}

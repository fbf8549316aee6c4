import { countedIn } from '../findings/progress/no-progress-rule.ts'
import { describeStuckNow } from '../findings/progress/no-progress-text.ts'
import { countedRanks, ranksOfPods } from '../findings/progress/ranks-progress.ts'
import { describeRanksNow } from '../findings/progress/ranks-text.ts'
import { countedStart } from '../findings/progress/start-progress.ts'
import { describeStartNow } from '../findings/progress/start-text.ts'
import type { LiveProcesses } from '../mpi/live-processes.ts'
import { joinJobs } from '../mpi/mpi-job.ts'
import { findStuckProcesses, type StuckProcesses } from '../mpi/stuck-processes.ts'
import { findStuckStart, joinStarting, type StuckStart } from '../mpi/stuck-start.ts'
import { joinNcclRuns } from '../nccl/nccl-run.ts'
import { findStuckRanks, type StuckRanks } from '../nccl/stuck-ranks.ts'
import {
  addCurrentStack,
  type CurrentStacks,
  findStacks,
  PYTHON_METRIC,
} from '../profiles/current-stacks.ts'
import { type LiveObserver, type LiveRank, silenceOf } from './ranks.ts'

/** Processes that make no progress now. */
export interface NoProgress {
  /** One sentence or more, for people. */
  readonly sentence: string
  /** The pods of the processes that wait or are late, as NAMESPACE/POD. */
  readonly pods: ReadonlySet<string>
}

/**
 * Finds the processes of MPI and the ranks of NCCL that make no progress now, by the same rule as
 * the report. A process whose rows do not arrive does not count.
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
  const pythonOf = findStacks(readStacks(ranks), podOf)
  const stuck = joinJobs(run, podOf, pythonOf).flatMap(findStuckProcesses).flatMap(countedIn)
  const starts = joinStarting(run, podOf).flatMap(findStuckStart).flatMap(countedStart)
  return [
    ...starts.filter(({ waiting }) => waiting.some(isRunning)).map(describeStart),
    ...stuck.filter(({ waiting }) => waiting.some((one) => isRunning(one.process))).map(describe),
    ...findStuckNow(ranks, now),
  ]
}

/** Reads the stacks of Python in the current rows. */
function readStacks(ranks: readonly LiveRank[]): CurrentStacks {
  const stacks: CurrentStacks = new Map()
  for (const { namespace, pod, node, rank, observers } of ranks) {
    const own = observers.find(({ metric }) => metric === PYTHON_METRIC)
    const interval = (own?.log.interval() ?? 0) / 1000
    const origin = { source: `${namespace}/${pod}`, metric: PYTHON_METRIC, namespace, pod }
    for (const { at, cells } of own?.log.sections().get('now')?.now.values() ?? []) {
      const moment = { timepoint: 0, time: new Date(at).toISOString(), seconds: 0, interval }
      const place = { kind: 'thread', section: 'now', node, rank, ...origin } as const
      addCurrentStack(stacks, 'now', { ...cells, ...place, ...moment })
    }
  }
  return stacks
}

/** Finds the ranks of NCCL that make no progress now. The pod that has asked must run. */
function findStuckNow(ranks: readonly LiveRank[], now: number): readonly NoProgress[] {
  const observers = ranks.flatMap(({ observers: all }) => all)
  const current = observers.filter((one) => !hasEnded(one) && silenceOf(one, now) === undefined)
  const run = joinNcclRuns(current.flatMap(({ nccl }) => nccl?.run() ?? []))
  return findStuckRanks(run, podOf).flatMap(countedRanks).map(describeRanks)
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

/** The source of the rows of a live log is its pod. */
function podOf(source: string): string {
  return source
}

function podsIn({ mpi }: ObserverOfMpi): readonly string[] {
  const { processes, starting } = mpi.calls()
  return [...processes, ...starting.values()].map(({ source }) => source)
}

import { countedIn } from '../findings/progress/no-progress-rule.ts'
import { describeStuckNow } from '../findings/progress/no-progress-text.ts'
import type { LiveProcesses } from '../mpi/live-processes.ts'
import { joinJobs } from '../mpi/mpi-job.ts'
import { findStuckProcesses, type StuckProcesses } from '../mpi/stuck-processes.ts'
import { type LiveObserver, type LiveRank, silenceOf } from './ranks.ts'

/** Processes that make no progress now. */
export interface NoProgress {
  /** One sentence or more, for people. */
  readonly sentence: string
  /** The pods of the processes that wait or are late, as NAMESPACE/POD. */
  readonly pods: ReadonlySet<string>
}

/**
 * Finds the processes of MPI that make no progress now, by the same rule as the report. A process
 * whose rows do not arrive does not count.
 *
 * @param now the current time, in milliseconds since 1970
 */
export function findNoProgress(ranks: readonly LiveRank[], now: number): readonly NoProgress[] {
  const observers = ranks.flatMap(({ observers: all }) => all.filter(hasProcesses))
  const current = observers.filter((one) => hasEnded(one) || silenceOf(one, now) === undefined)
  const processes = current.flatMap(({ mpi }) => mpi.processes())
  const running = new Set(
    current.flatMap((one) => (hasEnded(one) ? [] : one.mpi.processes().map(podOf))),
  )
  const stuck = joinJobs({ processes }, (source) => source).flatMap(findStuckProcesses)
  return stuck
    .flatMap(countedIn)
    .filter(({ waiting }) => waiting.some(({ process }) => running.has(process.source)))
    .map(describe)
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
  const pods = new Set(all.map(({ process }) => podOf(process)))
  return { sentence: describeStuckNow(stuck), pods }
}

/** The source of the rows of a live log is its pod. */
function podOf({ source }: { readonly source: string }): string {
  return source
}

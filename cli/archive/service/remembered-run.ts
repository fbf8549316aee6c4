import { type Backoff, backoffMs } from '../../../src/lib/pause.ts'
import { isTerminal, type RunPod } from '../../../src/runs/facts/pod-facts.ts'
import type { KeptRun } from '../storage/kept-logs.ts'
import { addFailure, type Failures, NO_FAILURES, pauseAfter } from './failures.ts'
import type { ArchivePace } from './pace.ts'

/** A run whose pods are remembered. Times are in milliseconds since 1970. */
export interface RememberedRun {
  readonly key: string
  readonly namespace: string
  /** The name of its object Run, and the title of its page. */
  readonly kept: KeptRun
  /** The UIDs of its pods. */
  readonly pods: Set<string>
  /** Whether its object Run exists. */
  isCreated: boolean
  /** When its Run is to be written; infinite if nothing has changed. */
  dueAt: number
  /** When its status was written, and its text; undefined if it was not. */
  writtenAt: number
  written: string | undefined
  /** The Events that were written, by name. */
  readonly events: Map<string, string>
  /** The failures to write it. */
  failures: Failures
  /** How often its workload was read since all of its pods have ended. */
  readings: number
  /** When it was first seen to be over; undefined while it goes on. */
  overAt: number | undefined
  /** The number of pods that were deleted while the archive did not watch them. */
  lost: number
  /** Whether the Run of an earlier archive was looked for. */
  isCompared: boolean
  /** A sentence about its processes that make no progress; undefined if none are known. */
  noProgress: string | undefined
}

export function createRememberedRun(kept: KeptRun): RememberedRun {
  return {
    key: kept.key,
    namespace: kept.namespace,
    kept,
    pods: new Set(),
    isCreated: false,
    dueAt: Number.POSITIVE_INFINITY,
    writtenAt: Number.NEGATIVE_INFINITY,
    written: undefined,
    events: new Map(),
    failures: NO_FAILURES,
    readings: 0,
    overAt: undefined,
    lost: 0,
    isCompared: false,
    noProgress: undefined,
  }
}

/** Reports whether all pods have ended or are gone. The run may be over. */
export function isSettled(pods: readonly RunPod[]): boolean {
  return pods.every(({ phase, isGone }) => isGone || isTerminal(phase))
}

/**
 * Sets when the Run of a changed run is to be written: at once if it does not exist or its pods
 * have ended, otherwise at most once a minute. After a failure, the pause is kept.
 */
export function scheduleChanged(
  run: RememberedRun,
  pods: readonly RunPod[],
  { updateMs }: ArchivePace,
  now: number,
): void {
  if (run.failures.count > 0) return
  const isUrgent = !run.isCreated || isSettled(pods)
  run.dueAt = Math.min(run.dueAt, isUrgent ? now : Math.max(run.writtenAt + updateMs, now))
}

/** Sets when the workload of a run is to be read again, whose pods have ended. */
export function scheduleReading(run: RememberedRun, { ending }: ArchivePace, now: number): void {
  run.dueAt = now + backoffMs(ending, run.readings)
  run.readings += 1
}

/** Sets when a run is to be written again after a failure. */
export function scheduleRetry(
  run: RememberedRun,
  writing: Backoff,
  leastMs: number,
  now: number,
): void {
  run.failures = addFailure(run.failures, now)
  run.dueAt = now + Math.max(pauseAfter(run.failures, writing), leastMs)
}

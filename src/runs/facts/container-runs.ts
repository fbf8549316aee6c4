import { asText, type Fields, fieldsOrNone } from '../../core/kubernetes/json.ts'
import { readTime } from '../../lib/rfc3339.ts'

/** How a container ended, as its status says. */
export interface ContainerEnd {
  /** Such as Completed, Error or OOMKilled; null if there is none. */
  readonly reason: string | null
  readonly exitCode: number | null
  /** The number of the signal that ended it; null if the container runtime did not set it. */
  readonly signal: number | null
}

/** A run of a container. Times are in milliseconds since 1970. */
export interface ContainerRun {
  /** 1 for the first start of the container in its pod. */
  readonly number: number
  readonly from: number | null
  /** Undefined while it runs; null if the status does not have it. */
  readonly to: number | null | undefined
  /** Null while it runs. */
  readonly end: ContainerEnd | null
}

/** The most runs of a container that are remembered: the last ones. */
const MAX_REMEMBERED_RUNS = 32

/** @param status a core/v1 ContainerStatus */
export function countRestarts({ restartCount }: Fields): number {
  return typeof restartCount === 'number' ? restartCount : 0
}

/**
 * Returns the runs of a container that its status has: the one before, and the last one. While the
 * container waits for its next start, the last one is in `lastState`, and `restartCount` does not
 * count the next one yet.
 *
 * @param status a core/v1 ContainerStatus
 */
export function readRuns(status: Fields): readonly ContainerRun[] {
  const states = [status.lastState, status.state].map(fieldsOrNone)
  const runs = states.flatMap(({ running, terminated }): Omit<ContainerRun, 'number'>[] => {
    if (terminated !== undefined) {
      const { startedAt, finishedAt, ...end } = fieldsOrNone(terminated)
      return [{ from: readStart(startedAt), to: readTime(finishedAt), end: readEnd(end) }]
    }
    if (running === undefined) return []
    return [{ from: readStart(fieldsOrNone(running).startedAt), to: undefined, end: null }]
  })
  const first = Math.max(countRestarts(status) + 2 - runs.length, 1)
  return runs.map((run, index) => ({ number: first + index, ...run }))
}

/**
 * Reads the start of a container in milliseconds since 1970; null if it is not known. The time of a
 * container that the runtime could not start is 0.
 */
export function readStart(startedAt: unknown): number | null {
  return readTime(startedAt) || null
}

function readEnd({ reason, exitCode, signal }: Fields): ContainerEnd {
  return {
    reason: asText(reason) ?? null,
    exitCode: typeof exitCode === 'number' ? exitCode : null,
    signal: typeof signal === 'number' && signal > 0 ? signal : null,
  }
}

/** Returns the runs that either status has; the later status knows more of a run. */
export function joinRuns(
  before: readonly ContainerRun[],
  now: readonly ContainerRun[],
): readonly ContainerRun[] {
  const byNumber = new Map([...before, ...now].map((run) => [run.number, run]))
  const sorted = [...byNumber.values()].toSorted((a, b) => a.number - b.number)
  return sorted.slice(-MAX_REMEMBERED_RUNS)
}

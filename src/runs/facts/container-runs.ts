import { asText, type Fields, fieldsOrNone } from '../../core/kubernetes/json.ts'
import { readTime } from '../../lib/rfc3339.ts'
import { isReplacedEnd } from '../log/entry.ts'

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
 * count the next one yet, unless all containers of the pod are started again.
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
  const isCounted = fieldsOrNone(status.state).waiting !== undefined && isReplaced(runs.at(-1))
  const last = countRestarts(status) + (isCounted ? 0 : 1)
  const first = Math.max(last + 1 - runs.length, 1)
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
  const isKnown = typeof exitCode === 'number' && !isReplacedEnd({ reason })
  return {
    reason: asText(reason) ?? null,
    exitCode: isKnown ? exitCode : null,
    signal: typeof signal === 'number' && signal > 0 ? signal : null,
  }
}

function isReplaced(run: Pick<ContainerRun, 'end'> | undefined): boolean {
  return isReplacedEnd(run?.end ?? { reason: null })
}

/** Returns the runs that either status has. */
export function joinRuns(
  before: readonly ContainerRun[],
  now: readonly ContainerRun[],
): readonly ContainerRun[] {
  const byNumber = Map.groupBy([...before, ...now], ({ number }) => number)
  const joined = [...byNumber.values()].flatMap(([first, last]) =>
    first === undefined || last === undefined ? (first ?? []) : joinRun(first, last),
  )
  return joined.toSorted((a, b) => a.number - b.number).slice(-MAX_REMEMBERED_RUNS)
}

/** The first status after the end of a run has all its values; a later status can lack some. */
function joinRun(before: ContainerRun, now: ContainerRun): ContainerRun {
  const from = before.from ?? now.from
  const isKnown = before.end !== null && now.end !== null && !isReplaced(before)
  return isKnown ? { ...before, from, to: before.to ?? now.to } : { ...now, from }
}

import { describeEnd } from '../findings/signals.ts'
import type { EndedContainer } from '../log/entry.ts'

// The attempts of an observer whose container was started more than once. Each has a log.

/** An attempt of an observer, as the status of its pod describes it. */
export interface ObserverAttempt {
  /** The number of the attempt in the name of its log; null if the name has none. */
  readonly attempt: number | null
  /** Whether the container has been started again since, so that this is its previous log. */
  readonly isPrevious: boolean
  readonly state: 'waiting' | 'running' | 'ended'
  /** The number of times that the kubelet has restarted the container. Each start has a new log. */
  readonly restarts: number
  /** The termination message of this attempt; null if there is none. */
  readonly message: string | null
  /** How containers of the application ended; null if that is not known. */
  readonly ended: readonly EndedContainer[] | null
  /** The attempt before, if the kubelet keeps its log; null otherwise. */
  readonly before: EndedAttempt | null
  /**
   * Reasons why the log may not come from an observer, or has not all of the run, one sentence
   * each.
   */
  readonly notices: readonly string[]
}

/** An attempt of an observer that ended before the last one began. */
export interface EndedAttempt {
  readonly message: string | null
  readonly ended: EndedContainer
}

/**
 * Returns an observer and its attempt before, if the kubelet keeps the log of that attempt. By
 * default, the kubelet keeps one ended container beside the last one (kubernetes
 * cmd/kubelet/app/options/options.go, `MaxPerPodContainerCount`).
 */
export function withAttemptBefore<Observer extends ObserverAttempt>(
  observer: Observer,
): readonly Observer[] {
  const { before, restarts } = observer
  if (before === null) return [observer]
  const { message } = before
  const attempt = { attempt: restarts, restarts: restarts - 1, isPrevious: true } as const
  const end = { state: 'ended', ended: endsBefore(observer.ended), message } as const
  return [observer, { ...observer, ...attempt, ...end, before: null, notices: [] }]
}

/** Returns the containers of the application that have ended and were started again. */
function endsBefore(ended: ObserverAttempt['ended']): ObserverAttempt['ended'] {
  const before = ended?.filter(({ restarted }) => restarted)
  return before?.map((one) => ({ ...one, restarted: false })) ?? null
}

/** Returns sentences about the attempts of an observer before the last one. */
export function attemptNotices({
  restarts,
  before,
}: Pick<ObserverAttempt, 'restarts' | 'before'>): readonly string[] {
  if (restarts === 0) return []
  const gone = before === null ? restarts : restarts - 1
  const kept = before === null ? [] : [`attempt ${restarts} ended with ${describeEnded(before)}`]
  const lost = gone === 0 ? [] : [`the kubelet has no log of ${attemptsTo(gone)} any more`]
  const first = `this is the log of attempt ${restarts + 1} of the container, and of no other`
  return [[first, ...kept, ...lost].join('; ')]
}

function describeEnded({ ended }: EndedAttempt): string {
  const time = ended.finishedAt === null ? '' : ` at ${ended.finishedAt}`
  return `${describeEnd(ended)}${time}`
}

function attemptsTo(last: number): string {
  if (last === 1) return 'attempt 1'
  return last === 2 ? 'attempts 1 and 2' : `attempts 1 to ${last}`
}

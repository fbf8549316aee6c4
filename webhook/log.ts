import type { Writable } from 'node:stream'
import { type DestinationStream, destination, type Logger, pino } from 'pino'
import type { Injected } from '../src/core/decision.ts'
import type { NamespaceReview } from '../src/core/namespaces/arm-namespace.ts'
import type { Reason } from '../src/core/reasons.ts'
import type { Review } from '../src/core/review.ts'
import type { PodReview } from '../src/core/review-pod.ts'
import { ascii, printableJsonText } from '../src/core/text/printable.ts'

const MAX_DETAIL_LENGTH = 192
const MAX_NAME_LENGTH = 253

/**
 * Opens a log of JSON lines that contain only printable characters. JSON already escapes the C0
 * control characters. This log also escapes the other characters that a terminal interprets. The
 * escapes do not change the values.
 *
 * @param level the lowest level that is logged, as named by pino
 */
export function openLog(level: string, stream: DestinationStream): Logger {
  return pino({ level, hooks: { streamWrite: printableJsonText } }, stream)
}

/**
 * Returns the destination of a log. If the stream is that of the process, pino's own writer writes
 * to its file descriptor, which takes much less processor time than the stream.
 */
export function logDestination(
  stream: Writable,
  options: Extract<Parameters<typeof destination>[0], { dest?: unknown }>,
): DestinationStream {
  return 'fd' in stream && typeof stream.fd === 'number'
    ? destination({ ...options, dest: stream.fd })
    : stream
}

/**
 * Logs one line for each decision. The line contains no Kubernetes object, because an object may
 * contain secrets and can be megabytes long.
 */
export function logPod(log: Logger, review: Review, answer: PodReview, seconds: number): void {
  const { decision, fault } = answer
  const { outcome } = decision
  const isLeft = outcome === 'left' || outcome === 'denied'
  const line = {
    uid: bare(review.uid),
    namespace: bare(review.namespace),
    pod: bare(review.name),
    dryRun: review.dryRun,
    outcome,
    reason: isLeft ? decision.reason : undefined,
    detail: isLeft ? ascii(decision.message, MAX_DETAIL_LENGTH) : undefined,
    metrics:
      outcome === 'injected' ? decision.observers.map(({ metric }) => metric.name) : undefined,
    without: outcome === 'injected' ? listLeft(decision) : undefined,
    seconds,
    err: fault,
  }
  log[fault === undefined ? 'info' : 'error'](line, 'pod')
}

/** Returns the reasons why a pod lacks requested metrics, by metric; undefined if it lacks none. */
function listLeft({ left }: Injected): Readonly<Record<string, Reason>> | undefined {
  if (left.length === 0) return undefined
  return Object.fromEntries(left.map(({ metric, reason }) => [bare(metric), reason]))
}

/**
 * Logs one line for each reviewed namespace. A namespace that was not changed is logged at level
 * debug.
 */
export function logNamespace(log: Logger, review: Review, answer: NamespaceReview): void {
  const { outcome, fault } = answer
  const usual = outcome === 'unchanged' ? 'debug' : 'info'
  const line = { uid: bare(review.uid), namespace: bare(review.name), outcome, err: fault }
  log[fault === undefined ? usual : 'error'](line, 'namespace')
}

/**
 * Shortens a name. Replaces spaces, double quotes, backslashes and all characters that are not
 * printable ASCII, because the apiserver has not validated the name yet.
 */
function bare(name: string): string {
  return name.slice(0, MAX_NAME_LENGTH).replace(/[^\x21\x23-\x5b\x5d-\x7e]/g, '?')
}

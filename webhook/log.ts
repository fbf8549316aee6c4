import { type DestinationStream, type Logger, pino } from 'pino'
import type { NamespaceReview } from '../src/core/namespaces/arm-namespace.ts'
import type { Review } from '../src/core/review.ts'
import type { PodReview } from '../src/core/review-pod.ts'
import { ascii, printableJsonText } from '../src/core/text/printable.ts'

const LONGEST_DETAIL = 192
const LONGEST_NAME = 253

/**
 * Opens a log of JSON lines. All its characters are printable: JSON escapes the C0 controls, and the
 * others that a terminal would obey are escaped here, which leaves the values as they are.
 *
 * @param level the least that is logged, as pino names it
 */
export function openLog(level: string, stream: DestinationStream): Logger {
  return pino({ level, hooks: { streamWrite: printableJsonText } }, stream)
}

/** One line per decision. Names and words alone: an object may hold secrets, and megabytes. */
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
    detail: isLeft ? ascii(decision.message, LONGEST_DETAIL) : undefined,
    metrics:
      outcome === 'injected' ? decision.observers.map(({ metric }) => metric.name) : undefined,
    seconds,
    err: fault,
  }
  log[fault === undefined ? 'info' : 'error'](line, 'pod')
}

/** One line per namespace that was armed or disarmed; the others are nobody's news. */
export function logNamespace(log: Logger, review: Review, answer: NamespaceReview): void {
  const { outcome, fault } = answer
  const usual = outcome === 'unchanged' ? 'debug' : 'info'
  const line = { uid: bare(review.uid), namespace: bare(review.name), outcome, err: fault }
  log[fault === undefined ? usual : 'error'](line, 'namespace')
}

/**
 * A name of a sane length in characters that JSON does not escape: the apiserver has not validated it
 * yet.
 */
function bare(name: string): string {
  return name.slice(0, LONGEST_NAME).replace(/[^\x21\x23-\x5b\x5d-\x7e]/g, '?')
}

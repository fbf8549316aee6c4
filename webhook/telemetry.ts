import type { Logger } from 'pino'
import type { Injected } from '../src/core/decision.ts'
import type { NamespaceReview } from '../src/core/namespaces/arm-namespace.ts'
import type { Review } from '../src/core/review.ts'
import type { PodReview } from '../src/core/review-pod.ts'
import { logNamespace, logPod } from './log.ts'
import type { Metrics } from './metrics.ts'

/** The Prometheus metrics and the log in which decisions are recorded. */
export interface Telemetry {
  readonly metrics: Metrics
  readonly log: Logger
}

/**
 * Counts and logs the decision about a pod. Injections of a dry run are not counted, because no pod
 * is created.
 *
 * @param seconds the duration of the decision
 */
export function recordPodReview(
  { metrics, log }: Telemetry,
  review: Review,
  reviewed: PodReview,
  seconds: number,
): void {
  const { decision } = reviewed
  const reason = 'reason' in decision ? decision.reason : decision.outcome
  metrics.duration.observe(seconds)
  metrics.reviews.inc({ outcome: decision.outcome, reason })
  if (decision.outcome === 'injected' && !review.dryRun) countMetrics(metrics, decision)
  logPod(log, review, reviewed, seconds)
}

/** Counts the metrics that an injected pod gets, and those that it lacks. */
function countMetrics({ injections, leftMetrics }: Metrics, { observers, left }: Injected): void {
  for (const { metric } of observers) injections.inc({ metric: metric.name })
  // The name of an unknown metric is the text of a user.
  for (const { metric, reason } of left)
    leftMetrics.inc({ metric: reason === 'unknown-metric' ? '' : metric, reason })
}

/** Counts and logs the review of a namespace. */
export function recordNamespaceReview(
  { metrics, log }: Telemetry,
  review: Review,
  reviewed: NamespaceReview,
): void {
  const reason = reviewed.fault === undefined ? 'namespace' : 'internal-error'
  metrics.reviews.inc({ outcome: reviewed.outcome, reason })
  logNamespace(log, review, reviewed)
}

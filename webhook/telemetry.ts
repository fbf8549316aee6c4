import type { Logger } from 'pino'
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
  if (decision.outcome === 'injected' && !review.dryRun) {
    for (const { metric } of decision.observers) metrics.injections.inc({ metric: metric.name })
  }
  logPod(log, review, reviewed, seconds)
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

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

/**
 * The upper bounds of the buckets, in seconds. The bounds are those of the apiserver's webhook
 * metrics (apiserver pkg/admission/metrics/metrics.go), with finer buckets for the usual durations
 * of a review.
 */
const DURATION_BUCKETS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25,
]

export type Metrics = ReturnType<typeof createMetrics>

/**
 * Creates the Prometheus metrics of one server. Labels never contain text from users: their values
 * come from the code and the catalog.
 */
export function createMetrics() {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  return {
    registry,
    reviews: new Counter({
      name: 'ridealong_reviews_total',
      help: 'Answered reviews and invalid calls, by outcome and reason',
      labelNames: ['outcome', 'reason'] as const,
      registers,
    }),
    injections: new Counter({
      name: 'ridealong_injections_total',
      help: 'Observers added to pods, by metric; dry runs are not counted',
      labelNames: ['metric'] as const,
      registers,
    }),
    leftMetrics: new Counter({
      name: 'ridealong_metrics_left_total',
      help:
        'Requested metrics that injected pods lack, by metric (empty if not in the catalog) and ' +
        'reason; dry runs are not counted',
      labelNames: ['metric', 'reason'] as const,
      registers,
    }),
    duration: new Histogram({
      name: 'ridealong_review_duration_seconds',
      help: 'Time to decide about a pod, without the wait while other pods are decided',
      buckets: DURATION_BUCKETS,
      registers,
    }),
    certificateExpiry: new Gauge({
      name: 'ridealong_certificate_expiry_timestamp_seconds',
      help: 'When the serving certificate expires, in seconds since the epoch',
      registers,
    }),
    catalogInfo: new Gauge({
      name: 'ridealong_catalog_info',
      help: 'The revision of the catalog in use; the value is always 1',
      labelNames: ['revision'] as const,
      registers,
    }),
    reloadFailures: new Counter({
      name: 'ridealong_reload_failures_total',
      help: 'Changed files that could not be reloaded; the last valid content stays in use',
      labelNames: ['what'] as const,
      registers,
    }),
  }
}

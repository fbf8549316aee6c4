import type { ObservedPods } from './entry.ts'

/**
 * Describes how many pods are observed: `5 of 20 pods observed`. If some metrics are only on some
 * of the observed pods, the description has the number for each of these metrics.
 */
export function describeObservedPods({ total, observed, metrics }: ObservedPods): string {
  const fewer = Object.entries(metrics).filter(([, pods]) => pods < observed)
  const parts = fewer.map(([metric, pods]) => `${metric}: ${pods}`).sort()
  const detail = parts.length === 0 ? '' : ` (${parts.join(', ')})`
  return `${observed} of ${total} pods observed${detail}`
}

import type { ObservedRanks } from './entry.ts'

/**
 * Describes how many ranks are observed: `5 of 20 ranks observed`. If some metrics are only on some
 * of the observed ranks, the description has the number for each of these metrics.
 */
export function describeObservedRanks({ total, observed, metrics }: ObservedRanks): string {
  const fewer = Object.entries(metrics).filter(([, ranks]) => ranks < observed)
  const parts = fewer.map(([metric, ranks]) => `${metric}: ${ranks}`).sort()
  const detail = parts.length === 0 ? '' : ` (${parts.join(', ')})`
  return `${observed} of ${total} ranks observed${detail}`
}

import type { QuantityChange } from './change.ts'
import type { FindingChange } from './finding-change.ts'
import type { RankChange } from './rank-changes.ts'

/** What probably made the time of a side longer or shorter. */
export type TimeCause =
  | { readonly kind: 'finding'; readonly change: FindingChange; readonly seconds: number | null }
  | { readonly kind: 'rank'; readonly change: RankChange; readonly seconds: number }

/** The part of the change of the time that a cause must account for. */
const MIN_PART = 0.25

/**
 * Returns the finding, or else the time of a rank, that accounts for the change of the time; null
 * if nothing that was measured does. A failure that came is always the cause. A finding is
 * preferred to the time of a rank, because it says why this time changed.
 */
export function findCause(
  time: QuantityChange,
  findings: readonly FindingChange[],
  ranks: readonly RankChange[],
): TimeCause | null {
  const failure = findings.find(
    ({ severity, status }) => severity === 'failure' && status === 'came',
  )
  if (failure !== undefined)
    return { kind: 'finding', change: failure, seconds: failure.secondsLost }
  const { difference, resolution, verdict } = time
  if (difference === null || verdict === 'same' || Math.abs(difference) <= resolution) return null
  const least = MIN_PART * Math.abs(difference)
  const sign = Math.sign(difference)
  const isEnough = ({ seconds }: { readonly seconds: number }) => seconds >= least
  const changed = findings.filter(({ status }) => status !== 'unknown' && status !== 'rare')
  const [finding] = changed
    .map(
      (change) => ({ kind: 'finding', change, seconds: sign * (change.secondsLost ?? 0) }) as const,
    )
    .filter(isEnough)
    .sort((a, b) => b.seconds - a.seconds)
  const [rank] = ranks
    .map((change) => ({ kind: 'rank', change, seconds: sign * change.difference }) as const)
    .filter(isEnough)
    .sort((a, b) => b.seconds - a.seconds)
  return finding ?? rank ?? null
}

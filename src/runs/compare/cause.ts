import type { QuantityChange } from './change.ts'
import type { FindingChange } from './finding-change.ts'
import type { PartChange } from './part-changes.ts'

/** What probably made the time of a side longer or shorter. */
export type TimeCause =
  | { readonly kind: 'finding'; readonly change: FindingChange; readonly seconds: number | null }
  | { readonly kind: 'part'; readonly change: PartChange; readonly seconds: number }

/** The part of the change of the time that a cause must account for. */
const MIN_PART = 0.25

/**
 * Returns the finding, or else the time of a pod or of an MPI rank, that accounts for the change of
 * the time; null if nothing that was measured does. A failure that came is always the cause. A
 * finding is preferred to such a time, because it says why this time changed.
 */
export function findCause(
  time: QuantityChange,
  findings: readonly FindingChange[],
  parts: readonly PartChange[],
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
  const [part] = parts
    .map((change) => ({ kind: 'part', change, seconds: sign * change.difference }) as const)
    .filter(isEnough)
    .sort((a, b) => b.seconds - a.seconds)
  return finding ?? part ?? null
}

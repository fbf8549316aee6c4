/**
 * A log that measures a quantity, or an observer that will. The facts that are not known yet when a
 * pod is created are the same for all its observers.
 */
export interface QuantitySource {
  /** Whether the value is known. A value that could not be read is null. */
  readonly isKnown: boolean
  /** Whether the value is counted, and not estimated from samples. */
  readonly isCounted: boolean
  /** Whether the value includes processes that have ended, because the observer summed them up. */
  readonly coversEnded: boolean
  /** Whether the column is a counter, which goes on between two samples. */
  readonly isTotal: boolean
  /** Whether no part of the log and no process is missing. */
  readonly isWhole: boolean
  /** The position of the metric in the catalog. */
  readonly order: number
}

/** Why a source was chosen. */
export type ChoiceReason =
  | 'the only source'
  | 'the only known value'
  | 'counted instead of sampled'
  | 'includes processes that have ended'
  | 'counts between samples too'
  | 'nothing is missing in its log'
  | 'first in the catalog'
  | 'first of the logs of one metric'

/** A source, and why it was chosen. */
export interface ChosenSource<Source extends QuantitySource> {
  readonly source: Source
  readonly reason: ChoiceReason
}

type Criterion = Exclude<keyof QuantitySource, 'order'>

/** The criteria, the most important first. */
const CRITERIA: readonly (readonly [Criterion, ChoiceReason])[] = [
  ['isKnown', 'the only known value'],
  ['isCounted', 'counted instead of sampled'],
  ['coversEnded', 'includes processes that have ended'],
  ['isTotal', 'counts between samples too'],
  ['isWhole', 'nothing is missing in its log'],
]

/**
 * Chooses one of the sources of a quantity of the same thing: the most complete one. If several are
 * equally complete, it is the first in the catalog, and of one metric the first in the list. The
 * values of the others are never added to it, because they are measurements of the same number.
 *
 * @returns undefined if there are no sources
 */
export function chooseSource<Source extends QuantitySource>(
  sources: readonly Source[],
): ChosenSource<Source> | undefined {
  const [source, next] = [...sources].sort(compareSources)
  if (source === undefined) return undefined
  if (next === undefined) return { source, reason: 'the only source' }
  const [, reason = reasonOfOrder(source, next)] =
    CRITERIA.find(([criterion]) => source[criterion] !== next[criterion]) ?? []
  return { source, reason }
}

function reasonOfOrder(source: QuantitySource, next: QuantitySource): ChoiceReason {
  return source.order === next.order ? 'first of the logs of one metric' : 'first in the catalog'
}

function compareSources(a: QuantitySource, b: QuantitySource): number {
  for (const [criterion] of CRITERIA)
    if (a[criterion] !== b[criterion]) return a[criterion] ? -1 : 1
  return a.order - b.order
}

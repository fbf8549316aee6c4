import { nameFirst } from '../../core/text/name-first.ts'
import { joinValues, type TotalQuantity } from '../report/programs/quantities.ts'
import { knownQuantity, type QuantityFacts } from './run-facts.ts'

/** The value of one rank, and the metric that measured it. */
export interface RankValue {
  readonly rank: string
  readonly metric: string
  readonly value: number | null
}

/** Joins the values of ranks. A sum is not known if a rank is not. */
export function joinRanks(
  name: Pick<QuantityFacts, 'quantity' | 'of' | 'title' | 'unit'>,
  ranks: readonly RankValue[],
  join: TotalQuantity['join'],
): QuantityFacts {
  const metrics = [...new Set(ranks.map(({ metric }) => metric))].sort()
  const known = ranks.flatMap(({ rank, value }) => (value === null ? [] : [{ rank, value }]))
  const unread = ranks.flatMap(({ rank, value }) => (value === null ? [rank] : []))
  const byRank = Object.fromEntries(known.map(({ rank, value }) => [rank, value]))
  if (known.length === 0 || (join === 'sum' && unread.length > 0)) {
    const of = ofRanks(unread, ranks.length)
    const missing = `the rows of ${metrics.join(' and ')} have no value${of}`
    return { ...name, metrics, value: null, missing, resolution: 0, byRank }
  }
  const value = known.map((one) => one.value).reduce((a, b) => joinValues(join, a, b) ?? a)
  return knownQuantity({ ...name, metrics }, value, byRank)
}

function ofRanks(unread: readonly string[], all: number): string {
  return unread.length === all ? '' : ` for ${nameFirst(unread)}`
}

import { nameFirst } from '../../core/text/name-first.ts'
import { joinValues, type TotalQuantity } from '../report/programs/quantities.ts'
import { knownQuantity, type QuantityFacts } from './run-facts.ts'

/** The value of one pod, and the metric that measured it. */
export interface PodValue {
  readonly pod: string
  readonly metric: string
  readonly value: number | null
}

/** Joins the values of pods. A sum is not known if a pod is not. */
export function joinPods(
  name: Pick<QuantityFacts, 'quantity' | 'of' | 'title' | 'unit'>,
  pods: readonly PodValue[],
  join: TotalQuantity['join'],
): QuantityFacts {
  const metrics = [...new Set(pods.map(({ metric }) => metric))].sort()
  const known = pods.flatMap(({ pod, value }) => (value === null ? [] : [{ pod, value }]))
  const unread = pods.flatMap(({ pod, value }) => (value === null ? [pod] : []))
  const byPart = Object.fromEntries(known.map(({ pod, value }) => [pod, value]))
  if (known.length === 0 || (join === 'sum' && unread.length > 0)) {
    const of = ofPods(unread, pods.length)
    const missing = `the rows of ${metrics.join(' and ')} have no value${of}`
    return { ...name, metrics, value: null, missing, resolution: 0, byPart }
  }
  const value = known.map((one) => one.value).reduce((a, b) => joinValues(join, a, b) ?? a)
  return knownQuantity({ ...name, metrics }, value, byPart)
}

function ofPods(unread: readonly string[], all: number): string {
  return unread.length === all ? '' : ` for ${nameFirst(unread)}`
}

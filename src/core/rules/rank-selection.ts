import { KEYS } from '../keys.ts'
import type { Fields } from '../kubernetes/json.ts'
import type { RequestedMetric, Terms } from '../request.ts'
import type { RankSelector } from '../text/rank-selector.ts'
import { type PodRank, RANK_KEYS, readPodRank } from './pod-rank.ts'

/** Why a pod, or a metric on a pod, is not selected. */
export interface Unselected {
  readonly reason: 'rank-not-selected' | 'rank-unknown'
  readonly message: string
}

/** The requested metrics of a pod, divided by whether they apply to the rank of the pod. */
export interface MetricsOfRank {
  readonly metrics: readonly RequestedMetric[]
  readonly others: readonly UnselectedMetric[]
}

/** A requested metric that applies only to other ranks. */
export interface UnselectedMetric extends Unselected {
  readonly metric: string
}

/** Reports whether a request applies only to some ranks, as a whole or for one of its metrics. */
export function selectsRanks({ ranks, metrics }: Pick<Terms, 'ranks' | 'metrics'>): boolean {
  return ranks !== undefined || metrics.some((metric) => metric.ranks !== undefined)
}

/**
 * Returns the requested metrics that apply to the rank of a pod, or the reason why none does. A
 * metric applies if the annotation `ridealong.dev/ranks` and the annotation of the metric both
 * select the rank.
 *
 * @param metadata the metadata of the pod
 */
export function selectMetrics(
  metadata: Fields,
  request: Pick<Terms, 'ranks' | 'metrics'>,
): MetricsOfRank | Unselected {
  if (!selectsRanks(request)) return { metrics: request.metrics, others: [] }
  const rank = readPodRank(metadata)
  const whole = checkRank(KEYS.ranks, request.ranks, rank)
  if (whole !== undefined) return whole
  const checked = request.metrics.map((asked) => ({
    asked,
    problem: checkRank(asked.metric.ranksKey, asked.ranks, rank),
  }))
  const metrics = checked.flatMap(({ asked, problem }) => (problem === undefined ? asked : []))
  const others = checked.flatMap(({ asked, problem }) =>
    problem === undefined ? [] : { metric: asked.metric.name, ...problem },
  )
  const [first] = others
  if (metrics.length > 0 || first === undefined) return { metrics, others }
  const { reason, message } = others.find((one) => one.reason === 'rank-unknown') ?? first
  return { reason, message }
}

/** @returns undefined if the selector selects the rank */
function checkRank(
  key: string,
  selector: RankSelector | undefined,
  rank: PodRank | undefined,
): Unselected | undefined {
  if (selector === undefined) return undefined
  if (rank === undefined) {
    const message = `the rank of the pod is not known: it has none of ${RANK_KEYS.join(', ')}`
    return { reason: 'rank-unknown', message: `annotation ${key}: ${message}` }
  }
  if (isSelected(selector, rank)) return undefined
  const isNumeric = selector.ranges.length > 0 || selector.steps.length > 0
  if (rank.missing.length > 0 && isNumeric) {
    const keys = rank.missing.join(', ')
    const message = `the number of the ${rank.label} is not known: the pod has no valid ${keys}`
    return { reason: 'rank-unknown', message: `annotation ${key}: ${message}` }
  }
  const message = `annotation ${key}: ${selector.text} does not select rank ${rank.label}`
  return { reason: 'rank-not-selected', message }
}

/** Reports whether a selector selects a rank. The time is linear in the number of terms. */
export function isSelected({ ranges, steps, names }: RankSelector, rank: PodRank): boolean {
  if (rank.names.some((name) => names.has(name))) return true
  const { number, group } = rank
  if (number === undefined) return false
  return (
    ranges.some(({ first, last }) => first <= number && number <= last) ||
    // If the groups have one pod each, all pods have the number 0. The number of the group
    // therefore counts too.
    steps.some((step) => (group + number) % step === 0)
  )
}

import { KEYS } from '../keys.ts'
import type { Fields } from '../kubernetes/json.ts'
import type { RequestedMetric, Terms } from '../request.ts'
import type { PodSelector } from '../text/pod-selector.ts'
import { INDEX_KEYS, type PodIndex, readPodIndex } from './pod-index.ts'

/** Why a pod, or a metric on a pod, is not selected. */
export interface Unselected {
  readonly reason: 'pod-not-selected' | 'pod-index-unknown'
  readonly message: string
}

/** The requested metrics of a pod, divided by whether they apply to a pod. */
export interface MetricsOfPod {
  readonly metrics: readonly RequestedMetric[]
  readonly others: readonly UnselectedMetric[]
}

/** A requested metric that applies only to other pods. */
export interface UnselectedMetric extends Unselected {
  readonly metric: string
}

/** Reports whether a request applies only to some pods, as a whole or for one of its metrics. */
export function selectsPods({ pods, metrics }: Pick<Terms, 'pods' | 'metrics'>): boolean {
  return pods !== undefined || metrics.some((metric) => metric.pods !== undefined)
}

/**
 * Returns the requested metrics that apply to a pod, or the reason why none does. A metric applies
 * if the annotation `ridealong.dev/pods` and the annotation of the metric both select the pod.
 *
 * @param metadata the metadata of the pod
 */
export function selectMetrics(
  metadata: Fields,
  request: Pick<Terms, 'pods' | 'metrics'>,
): MetricsOfPod | Unselected {
  if (!selectsPods(request)) return { metrics: request.metrics, others: [] }
  const podIndex = readPodIndex(metadata)
  const whole = checkPod(KEYS.pods, request.pods, podIndex)
  if (whole !== undefined) return whole
  const checked = request.metrics.map((asked) => ({
    asked,
    problem: checkPod(asked.metric.podsKey, asked.pods, podIndex),
  }))
  const metrics = checked.flatMap(({ asked, problem }) => (problem === undefined ? asked : []))
  const others = checked.flatMap(({ asked, problem }) =>
    problem === undefined ? [] : { metric: asked.metric.name, ...problem },
  )
  const [first] = others
  if (metrics.length > 0 || first === undefined) return { metrics, others }
  const { reason, message } = others.find((one) => one.reason === 'pod-index-unknown') ?? first
  return { reason, message }
}

/** @returns undefined if the selector selects the pod */
function checkPod(
  key: string,
  selector: PodSelector | undefined,
  podIndex: PodIndex | undefined,
): Unselected | undefined {
  if (selector === undefined) return undefined
  if (podIndex === undefined) {
    const message = `the index of the pod is not known: it has none of ${INDEX_KEYS.join(', ')}`
    return { reason: 'pod-index-unknown', message: `annotation ${key}: ${message}` }
  }
  if (isSelected(selector, podIndex)) return undefined
  const isNumeric = selector.ranges.length > 0 || selector.steps.length > 0
  if (podIndex.missing.length > 0 && isNumeric) {
    const keys = podIndex.missing.join(', ')
    const message = `the number of the ${podIndex.label} is not known: the pod has no valid ${keys}`
    return { reason: 'pod-index-unknown', message: `annotation ${key}: ${message}` }
  }
  const message = `annotation ${key}: ${selector.text} does not select pod ${podIndex.label}`
  return { reason: 'pod-not-selected', message }
}

/** Reports whether a selector selects a pod. The time is linear in the number of terms. */
function isSelected({ ranges, steps, names }: PodSelector, podIndex: PodIndex): boolean {
  if (podIndex.names.some((name) => names.has(name))) return true
  const { number, group } = podIndex
  if (number === undefined) return false
  return (
    ranges.some(({ first, last }) => first <= number && number <= last) ||
    // If the groups have one pod each, all pods have the number 0. The number of the group
    // therefore counts too.
    steps.some((step) => (group + number) % step === 0)
  )
}

import { type MetricReason, REASONS, RULES } from '../reasons.ts'

/** The reason why a pod cannot get the observer of a metric, and a message about it. */
export interface MetricProblem {
  readonly reason: MetricReason
  readonly message: string
}

/** A requested metric that a pod does not get, although it may get other metrics. */
export interface LeftMetric extends MetricProblem {
  /** The requested name. With the reason `unknown-metric`, no metric of the catalog has it. */
  readonly metric: string
}

/**
 * Returns the left metric whose reason leaves or denies the pod: the one that the earliest rule
 * left, if the pod gets no other metric or must get all of them.
 *
 * @param others the number of the other metrics
 * @param mustGetAll whether the request has `on-error: deny`
 * @returns undefined if the pod gets the other metrics
 */
export function findDecisive<Metric extends LeftMetric>(
  left: readonly Metric[],
  others: number,
  mustGetAll: boolean,
): Metric | undefined {
  if (others > 0 && !mustGetAll) return undefined
  const placeOf = ({ reason }: Metric) =>
    RULES.findIndex(({ name }) => name === REASONS[reason].rule)
  return left.toSorted((one, other) => placeOf(one) - placeOf(other))[0]
}

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
 * Returns the metric whose reason stands for all of them if a pod gets no metric: the one that the
 * earliest rule left. Undefined if no metric was left.
 */
export function findFirstLeft(left: readonly LeftMetric[]): LeftMetric | undefined {
  const placeOf = ({ reason }: LeftMetric) =>
    RULES.findIndex(({ name }) => name === REASONS[reason].rule)
  return left.toSorted((one, other) => placeOf(one) - placeOf(other))[0]
}

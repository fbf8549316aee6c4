import type { Reason } from '../../core/reasons.ts'
import type { LeftMetric } from '../../core/rules/left-metric.ts'
import type { Cause } from './causes.ts'

/**
 * The result of a rule:
 * - `ok`: the rule allows observers;
 * - `no`: the rule prevents observers;
 * - `look`: the result may need attention;
 * - `unknown`: the result could not be determined;
 * - `open`: the rule was not reached.
 */
export type FindingVerdict = Finding['verdict']

/** The name of a rule, its verdict, and the explanation as a sentence. */
export type Finding = { readonly name: string; readonly sentence: string } & (
  | { readonly verdict: 'ok' | 'look' | 'unknown' | 'open' }
  | { readonly verdict: 'no'; readonly reason: Reason | Cause }
)

/** Builds a finding that does not prevent observers. */
export function find(
  name: string,
  verdict: Exclude<FindingVerdict, 'no'>,
  sentence: string,
): Finding {
  return { name, verdict, sentence }
}

/** Builds a finding that prevents observers. */
export function stop(name: string, reason: Reason | Cause, sentence: string): Finding {
  return { name, verdict: 'no', reason, sentence }
}

/** Describes a requested metric that a pod does not get, in a finding of the rule that left it. */
export function describeWithout({ metric, message }: Pick<LeftMetric, 'metric' | 'message'>) {
  return `without ${metric}: ${message}`
}

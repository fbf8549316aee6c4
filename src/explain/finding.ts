import type { Reason } from '../core/reasons.ts'
import type { Cause } from './causes.ts'

/**
 * What a rule says of a pod: `ok` lets observers ride, `no` keeps them out, `look` is worth a look, `unknown`
 * could not be found out, `open` was not reached.
 */
export type FindingVerdict = Finding['verdict']

/** A rule, what it says, and why, as a sentence. */
export type Finding = { readonly name: string; readonly sentence: string } & (
  | { readonly verdict: 'ok' | 'look' | 'unknown' | 'open' }
  | { readonly verdict: 'no'; readonly reason: Reason | Cause }
)

/** A finding that keeps no observer out. */
export function find(
  name: string,
  verdict: Exclude<FindingVerdict, 'no'>,
  sentence: string,
): Finding {
  return { name, verdict, sentence }
}

/** A finding that keeps observers out. */
export function stop(name: string, reason: Reason | Cause, sentence: string): Finding {
  return { name, verdict: 'no', reason, sentence }
}

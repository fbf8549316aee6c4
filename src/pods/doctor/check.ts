import type { FactLookup } from '../explain/facts.ts'

/**
 * The result of one check: `ok`, `no` (a fault, with its remedy), `unknown` (could not be
 * determined), or `look` (no fault, but it may need attention).
 */
export type InstallationCheck = { readonly name: string; readonly sentence: string } & (
  | { readonly verdict: 'ok' | 'look' | 'unknown' }
  | { readonly verdict: 'no'; readonly remedy: string }
)

/** The remedy if a part of the chart is missing. */
export const RESTORE = 'restore it with helm upgrade and the values of the release'

/** Builds a check that needs no remedy. */
export function check(
  name: string,
  verdict: 'ok' | 'look' | 'unknown',
  sentence: string,
): InstallationCheck {
  return { name, verdict, sentence }
}

/** Builds a failed check with its remedy. */
export function fault(name: string, sentence: string, remedy: string): InstallationCheck {
  return { name, verdict: 'no', sentence, remedy }
}

/** Builds a check from a fact. A fact that could not be read is `unknown`, not a fault. */
export function judged<T>(
  name: string,
  asked: FactLookup<T>,
  judge: (value: T) => InstallationCheck,
): InstallationCheck {
  return 'problem' in asked ? check(name, 'unknown', asked.problem) : judge(asked.value)
}

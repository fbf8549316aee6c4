import type { FactLookup } from '../explain/facts.ts'

/**
 * A thing that was looked at: it holds (`ok`) or does not (`no`), could not be found out (`unknown`), or is as
 * somebody chose it (`look`). What does not hold says what to do.
 */
export type InstallationCheck = { readonly name: string; readonly sentence: string } & (
  | { readonly verdict: 'ok' | 'look' | 'unknown' }
  | { readonly verdict: 'no'; readonly remedy: string }
)

/** What to do where something of the chart is missing. */
export const RESTORE = 'helm upgrade with the values of the release puts it back'

/** A check that nothing has to be done about. */
export function check(
  name: string,
  verdict: 'ok' | 'look' | 'unknown',
  sentence: string,
): InstallationCheck {
  return { name, verdict, sentence }
}

/** A check that does not hold, and what to do. */
export function fault(name: string, sentence: string, remedy: string): InstallationCheck {
  return { name, verdict: 'no', sentence, remedy }
}

/** Judges an answer; what nobody may read is unknown, and no fault. */
export function judged<T>(
  name: string,
  asked: FactLookup<T>,
  judge: (value: T) => InstallationCheck,
): InstallationCheck {
  return 'problem' in asked ? check(name, 'unknown', asked.problem) : judge(asked.value)
}

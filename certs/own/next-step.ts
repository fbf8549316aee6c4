import { type Bundle, composeBundle, hasExactly, isBundled } from './bundle.ts'
import { BACKDATED_MS } from './own-pair.ts'
import type { StoredPair, ValidPair } from './read-pair.ts'

/** The state of a server's own certificates, as it was read from the cluster. */
export interface OwnState {
  /** Milliseconds since 1970. */
  readonly now: number
  /** The lifetime of a new certificate, in milliseconds. */
  readonly durationMs: number
  /** The pair that the servers use. */
  readonly current: StoredPair
  /** The pair that the servers will use as soon as the apiservers trust its CA. */
  readonly next: StoredPair
  /** The caBundle of each webhook; undefined if there is no webhook configuration. */
  readonly bundles: readonly Bundle[] | undefined
  /**
   * The time in milliseconds since the CA of `next` was first seen in every caBundle; 0 if it is
   * missing in one of them.
   */
  readonly trustedForMs: number
  /**
   * The time in milliseconds until every apiserver is assumed to know a new caBundle. Apiservers
   * read the configuration from a watch, so usually they know it within milliseconds.
   */
  readonly settleMs: number
}

/**
 * The next step, with its reason as a sentence:
 * - `prepare`: make a pair, and store it as the next pair.
 * - `trust`: write `bundle` as the caBundle of every webhook.
 * - `switch`: make the next pair the current pair.
 * - `none`: there is nothing to do now.
 */
export type OwnStep = { readonly reason: string } & (
  | { readonly kind: 'prepare' | 'switch' | 'none' }
  | { readonly kind: 'trust'; readonly bundle: readonly string[] }
)

/**
 * Decides the next step of a renewal. Each step is one write, and the decision depends only on the
 * stored state. A replica can therefore end after any step, and another replica continues.
 *
 * The order of the steps ensures that the apiservers trust each certificate that a server uses:
 * 1. A new pair is stored, but not used.
 * 2. Its CA is added to the caBundle.
 * 3. After a pause, the servers use the new pair.
 * 4. The old CA stays in the caBundle until it expires, together with its only certificate.
 */
export function decideOwnStep(state: OwnState): OwnStep {
  const { current, next, settleMs, trustedForMs } = state
  const blocking = decideTrust(state)
  if (blocking !== undefined) return blocking
  if (next.state !== 'absent' && findFault(next, state) === undefined) {
    return trustedForMs < settleMs
      ? { kind: 'none', reason: 'waiting until every apiserver knows the new caBundle' }
      : { kind: 'switch', reason: 'caBundle verifies the new certificate' }
  }
  const fault = findFault(current, state)
  return fault === undefined
    ? { kind: 'none', reason: 'the certificate needs no renewal' }
    : { kind: 'prepare', reason: fault }
}

/** Returns the step that caBundle needs first; undefined if every caBundle is as it should be. */
function decideTrust({ now, current, next, bundles = [] }: OwnState): OwnStep | undefined {
  if (bundles.length === 0)
    return { kind: 'none', reason: 'the webhook configuration does not exist' }
  const needed = [next, current].flatMap((pair) => (isUsable(pair, now) ? [pair.ca] : []))
  const bundle = composeBundle(needed, bundles, now)
  const isKnown = bundles.every((each) => needed.every((pem) => isBundled(each, pem)))
  if (!isKnown) return { kind: 'trust', bundle, reason: 'caBundle lacks the CA of a certificate' }
  const isExact = bundles.every((each) => hasExactly(each, bundle))
  const reason = 'caBundle contains more than certificates that are still valid'
  return isExact ? undefined : { kind: 'trust', bundle, reason }
}

function isUsable(pair: StoredPair, now: number): pair is ValidPair {
  return pair.state === 'valid' && now < pair.notAfter
}

/** Describes why a pair must be replaced; undefined if it need not be replaced yet. */
function findFault(
  pair: StoredPair,
  { now, durationMs }: Pick<OwnState, 'now' | 'durationMs'>,
): string | undefined {
  if (pair.state === 'absent') return 'there is no certificate'
  if (pair.state === 'invalid') return pair.problem
  const { notBefore, notAfter } = pair
  if (now < notBefore)
    return `the certificate is valid only from ${new Date(notBefore).toISOString()}`
  const remainingMs = notAfter - now
  if (remainingMs <= 0) return `the certificate expired at ${new Date(notAfter).toISOString()}`
  if (remainingMs < durationMs / 2) return 'less than half of the lifetime of a certificate remains'
  // A clock that is ahead makes certificates that are valid for longer, by less than a day.
  if (remainingMs > durationMs + BACKDATED_MS)
    return 'the certificate is valid for longer than the configured duration'
  return undefined
}

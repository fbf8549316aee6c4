import { makeAuthority } from '../make.ts'
import { BACKDATED_MS, type OwnPair } from './own-pair.ts'

export interface PairOptions {
  /** The DNS names of the server. */
  readonly names: readonly string[]
  /** Milliseconds since 1970. */
  readonly now: number
  /** The time from now until the certificates expire, in milliseconds. */
  readonly durationMs: number
}

/**
 * Makes a server certificate, and a CA that issues only this certificate. The private key of the CA
 * is never stored. Therefore no other certificate can be issued with this key. Both certificates
 * expire at the same time, so an expired CA certificate can be removed without harm.
 */
export async function makeOwnPair({ names, now, durationMs }: PairOptions): Promise<OwnPair> {
  const validity = {
    notBefore: new Date(now - BACKDATED_MS),
    notAfter: new Date(now + durationMs),
  }
  const authority = await makeAuthority({ subject: 'CN=Ridealong own CA', validity })
  // The names are not in the subject, because a common name has at most 64 characters.
  const { cert, key } = await authority.issue({ names, subject: 'CN=Ridealong webhook', validity })
  return { cert, key, ca: authority.ca }
}

import { X509Certificate } from 'node:crypto'
import { parseCertificate } from '../certificate.ts'
import { type KeyPair, parseKeyPair } from '../key-pair.ts'
import type { OwnPair } from './own-pair.ts'

/** A stored pair of certificates, after its validation. */
export type StoredPair =
  | { readonly state: 'absent' }
  /** `problem` names the invalid key of the Secret. */
  | { readonly state: 'invalid'; readonly problem: string }
  | ValidPair

/** A pair whose parts belong together. It may have expired. */
export interface ValidPair {
  readonly state: 'valid'
  readonly keyPair: KeyPair
  /** The CA certificate, in PEM as Node writes it. */
  readonly ca: string
  /** The validity of the server certificate, in milliseconds since 1970. */
  readonly notBefore: number
  readonly notAfter: number
}

export interface ReadOptions {
  /** The DNS names for which the server certificate must be valid. */
  readonly names: readonly string[]
  /** The names of the texts, for error messages. */
  readonly sources: OwnPair
}

const ABSENT: StoredPair = { state: 'absent' }

/**
 * Validates a stored pair: the private key belongs to the certificate, the CA has issued the
 * certificate, and the certificate is valid for the names. A pair without any text is absent.
 */
export function readOwnPair(texts: OwnPair, { names, sources }: ReadOptions): StoredPair {
  if (texts.cert === '' && texts.key === '' && texts.ca === '') return ABSENT
  try {
    return validate(texts, names, sources)
  } catch (error) {
    return { state: 'invalid', problem: error instanceof Error ? error.message : String(error) }
  }
}

function validate(texts: OwnPair, names: readonly string[], sources: OwnPair): ValidPair {
  const keyPair = parseKeyPair(texts, sources)
  const leaf = new X509Certificate(texts.cert)
  const authority = parseAuthority(texts.ca, sources.ca)
  if (!leaf.checkIssued(authority) || !leaf.verify(authority.publicKey))
    throw new Error(`${sources.ca} has not issued the certificate ${sources.cert}`)
  const missing = names.find((name) => leaf.checkHost(name, { subject: 'never' }) === undefined)
  if (missing !== undefined)
    throw new Error(`the certificate ${sources.cert} is not valid for ${missing}`)
  const { validFromDate, validToDate } = leaf
  return {
    state: 'valid',
    keyPair,
    ca: authority.toString(),
    notBefore: validFromDate.getTime(),
    notAfter: validToDate.getTime(),
  }
}

function parseAuthority(pem: string, source: string): X509Certificate {
  const authority = parseCertificate(pem)
  if (authority?.ca !== true) throw new Error(`${source} contains no valid CA certificate in PEM`)
  return authority
}

/** A server certificate, its private key, and the CA certificate that verifies it, in PEM. */
export interface OwnPair {
  readonly cert: string
  readonly key: string
  readonly ca: string
}

/**
 * The time by which the certificates are backdated, in milliseconds. If the clock of this machine
 * is ahead, the apiserver must still accept a new certificate. A day is more than any time zone
 * that was taken for UTC.
 */
export const BACKDATED_MS = 24 * 60 * 60 * 1000

import { X509Certificate } from 'node:crypto'

/** A certificate in PEM, among other text. */
export const CERTIFICATE_BLOCK = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** Parses the first certificate in PEM; undefined if it is not valid. */
export function parseCertificate(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem)
  } catch {
    return undefined
  }
}

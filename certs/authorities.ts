import { createHash } from 'node:crypto'
import { CERTIFICATE_BLOCK, parseCertificate } from './certificate.ts'
import { readPem } from './key-pair.ts'

/** One or more CA certificates, in PEM. */
export interface Authorities {
  readonly pem: string
  /** A hash of the certificates. */
  readonly revision: string
}

/**
 * Reads one or more CA certificates from a file.
 *
 * @throws an error that names the file if the file cannot be read, or if it contains no certificate
 * or a certificate that is not a CA certificate. OpenSSL would ignore a certificate that is not a
 * CA certificate, and reject every client if the file contains no other.
 */
export async function readAuthorities(path: string): Promise<Authorities> {
  const text = await readPem(path)
  const blocks = text.match(CERTIFICATE_BLOCK) ?? []
  if (blocks.length === 0) throw new Error(`${path} contains no certificate in PEM`)
  for (const [index, block] of blocks.entries()) {
    if (parseCertificate(block)?.ca !== true)
      throw new Error(`${path}: certificate ${index + 1} is not the certificate of an authority`)
  }
  const pem = blocks.join('\n')
  return { pem, revision: createHash('sha256').update(pem).digest('hex') }
}

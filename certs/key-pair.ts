import { createHash, createPrivateKey, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'

/** A certificate and its private key, in PEM. */
export interface KeyPair {
  readonly cert: string
  readonly key: string
  /** The time at which the certificate expires. */
  readonly notAfter: Date
  /** A hash of both files. */
  readonly revision: string
}

/** How often both files are read at most, until two successive reads return the same. */
const MAX_READS = 4

/**
 * Reads a certificate, with any intermediate certificates in the same file, and its private key.
 * Both files are read again until they have not changed: a mounted Secret can be replaced after one
 * file is read and before the other is.
 *
 * @throws an error that names the file if either file cannot be read or is not PEM. The error names
 * both files if the key does not match the certificate, for example while the files are replaced
 * one after the other.
 */
export async function readKeyPair(certPath: string, keyPath: string): Promise<KeyPair> {
  const texts = await readUnchanged(certPath, keyPath)
  return parseKeyPair(texts, { cert: certPath, key: keyPath })
}

interface KeyPairTexts {
  readonly cert: string
  readonly key: string
}

/**
 * Parses a certificate, with any intermediate certificates after it, and its private key.
 *
 * @param sources the places from which the two texts were read, for error messages
 * @throws an error that names the source of the invalid text, or both sources if the key does not
 * match the certificate
 */
export function parseKeyPair({ cert, key }: KeyPairTexts, sources: KeyPairTexts): KeyPair {
  const certificate = parse(sources.cert, 'certificate', () => new X509Certificate(cert))
  const privateKey = parse(sources.key, 'private key', () => createPrivateKey(key))
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new Error(
      `the private key ${sources.key} does not belong to the certificate ${sources.cert}`,
    )
  }
  const revision = createHash('sha256').update(cert).update(key).digest('hex')
  return { cert, key, notAfter: new Date(certificate.validTo), revision }
}

async function readUnchanged(certPath: string, keyPath: string) {
  const read = async () => {
    const [cert, key] = await Promise.all([readPem(certPath), readPem(keyPath)])
    return { cert, key }
  }
  let last = await read()
  for (let reads = 1; reads < MAX_READS; reads += 1) {
    const next = await read()
    if (next.cert === last.cert && next.key === last.key) break
    last = next
  }
  return last
}

/**
 * Reads a PEM file. The thrown error always names the path; Node's own error does not name the path
 * of a directory.
 */
export async function readPem(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new Error(`cannot read ${path}: ${error.message}`)
  })
}

function parse<T>(path: string, what: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`${path} contains no valid ${what} in PEM: ${reason}`)
  }
}

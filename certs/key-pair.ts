import { createHash, createPrivateKey, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'

/** A certificate with its key, as PEM. */
export interface KeyPair {
  readonly cert: string
  readonly key: string
  /** When the certificate ends. */
  readonly notAfter: Date
  /** A hash of both files. */
  readonly revision: string
}

/**
 * Reads a certificate (with what of its chain the file holds) and its private key.
 *
 * @throws an error that names the file, when one cannot be read, is not PEM, or the two do not
 * belong together, as while they are being replaced one after the other
 */
export async function readKeyPair(certPath: string, keyPath: string): Promise<KeyPair> {
  const [cert, key] = await Promise.all([readPem(certPath), readPem(keyPath)])
  const certificate = parse(certPath, 'certificate', () => new X509Certificate(cert))
  const privateKey = parse(keyPath, 'private key', () => createPrivateKey(key))
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new Error(`the key of ${keyPath} is not that of the certificate ${certPath}`)
  }
  const revision = createHash('sha256').update(cert).update(key).digest('hex')
  return { cert, key, notAfter: new Date(certificate.validTo), revision }
}

/** The system's own error leaves out the path where it is a folder. */
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
    throw new Error(`${path} holds no ${what} in PEM: ${reason}`)
  }
}

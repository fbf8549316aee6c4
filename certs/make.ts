// @peculiar/x509 depends on tsyringe, which throws on import unless reflect-metadata is imported
// first.
import 'reflect-metadata'
import { webcrypto } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { join } from 'node:path'
import * as x509 from '@peculiar/x509'

/** ECDSA P-256: the keys are small, and a TLS handshake is several times faster than with RSA. */
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const DAY_MS = 24 * 60 * 60 * 1000
/**
 * By default, certificates become valid five minutes before they are issued, so that a client with
 * a slow clock accepts them.
 */
const BACKDATED_MS = 5 * 60 * 1000

/** The time in which a certificate is valid. */
export interface Validity {
  readonly notBefore: Date
  readonly notAfter: Date
}

export interface AuthorityOptions {
  /** An X.500 name. */
  readonly subject?: string
  /** The default is ten days from now. */
  readonly validity?: Validity
}

/** A certificate authority whose private key exists only in this process. */
export interface Authority {
  /** The CA certificate, in PEM. */
  readonly ca: string
  /** Creates a certificate for a server or a client, and its private key, both in PEM. */
  issue(options: IssueOptions): Promise<{ readonly cert: string; readonly key: string }>
}

export interface IssueOptions {
  /** The DNS names and IP addresses of a server; empty for a client. */
  readonly names: readonly string[]
  /** An X.500 name. The default is `CN=` followed by the first of the names. */
  readonly subject?: string
  /**
   * The validity in days from now; a negative number creates an expired certificate. The default is
   * 1.
   */
  readonly days?: number
  /** The validity, instead of `days`. */
  readonly validity?: Validity
}

/** Creates an authority. Its private key never leaves the process. */
export async function makeAuthority({
  subject = 'CN=Ridealong development CA',
  validity = validityOf(10),
}: AuthorityOptions = {}): Promise<Authority> {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    name: subject,
    keys,
    signingAlgorithm: ALGORITHM,
    ...validity,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  })
  return {
    ca: ca.toString('pem'),
    issue: (options) => issue(ca, keys.privateKey, options),
  }
}

async function issue(
  ca: x509.X509Certificate,
  signingKey: webcrypto.CryptoKey,
  { names, days = 1, subject = `CN=${names[0]}`, validity = validityOf(days) }: IssueOptions,
): Promise<{ cert: string; key: string }> {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const leaf = await x509.X509CertificateGenerator.create({
    subject,
    issuer: ca.subject,
    publicKey: keys.publicKey,
    signingKey,
    signingAlgorithm: ALGORITHM,
    ...validity,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      // Distinguishes authorities of the same name, for example an old one and its replacement.
      await x509.AuthorityKeyIdentifierExtension.create(ca.publicKey),
      ...(names.length === 0 ? CLIENT : serverExtensions(names)),
    ],
  })
  const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)
  return { cert: leaf.toString('pem'), key: x509.PemConverter.encode(pkcs8, 'PRIVATE KEY') }
}

const CLIENT = [new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth])]

function serverExtensions(names: readonly string[]): x509.Extension[] {
  return [
    new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
    new x509.SubjectAlternativeNameExtension(
      names.map((value) => ({ type: isIP(value) ? 'ip' : 'dns', value })),
    ),
  ]
}

function validityOf(days: number): Validity {
  const end = Date.now() + days * DAY_MS
  return { notBefore: new Date(Math.min(Date.now(), end) - BACKDATED_MS), notAfter: new Date(end) }
}

/**
 * Writes ca.crt, tls.crt and tls.key into a folder. cert-manager writes a Secret of type
 * kubernetes.io/tls with the same names as keys.
 */
export async function writeKeyPair(
  folder: string,
  authority: Authority,
  options: IssueOptions,
): Promise<void> {
  const { cert, key } = await authority.issue(options)
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'ca.crt'), authority.ca)
  await writeFile(join(folder, 'tls.crt'), cert)
  await writeFile(join(folder, 'tls.key'), key, { mode: 0o600 })
}

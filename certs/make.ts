// @peculiar/x509 is built on tsyringe, which throws on import unless this is imported before it.
import 'reflect-metadata'
import { webcrypto } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { join } from 'node:path'
import * as x509 from '@peculiar/x509'

/** ECDSA P-256: small, and several times faster to shake hands with than RSA. */
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const DAY_MS = 24 * 60 * 60 * 1000
/** A clock that is a little behind must not refuse the certificate. */
const BACKDATED_MS = 5 * 60 * 1000

/** A throw-away certificate authority, for development and tests. */
export interface Authority {
  /** The certificate of the authority, PEM. */
  readonly ca: string
  /** Makes a certificate for a server or a client, and its key. */
  issue(options: IssueOptions): Promise<{ readonly cert: string; readonly key: string }>
}

export interface IssueOptions {
  /** DNS names and IP addresses of a server; none for a client. */
  readonly names: readonly string[]
  /** An X.500 name; `CN=` and the first of the names where absent. */
  readonly subject?: string
  /** Days from now; less than 0 for one that has ended. */
  readonly days?: number
}

/** Makes an authority that lives for ten days. Its key never leaves the process. */
export async function makeAuthority(): Promise<Authority> {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'CN=Ridealong development CA',
    keys,
    signingAlgorithm: ALGORITHM,
    ...validity(10),
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
  { names, days = 1, subject = `CN=${names[0]}` }: IssueOptions,
): Promise<{ cert: string; key: string }> {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const leaf = await x509.X509CertificateGenerator.create({
    subject,
    issuer: ca.subject,
    publicKey: keys.publicKey,
    signingKey,
    signingAlgorithm: ALGORITHM,
    ...validity(days),
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      // Tells authorities of the same name apart, as an old and a new one are.
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

function validity(days: number): { notBefore: Date; notAfter: Date } {
  const end = Date.now() + days * DAY_MS
  return { notBefore: new Date(Math.min(Date.now(), end) - BACKDATED_MS), notAfter: new Date(end) }
}

/** Writes ca.crt, tls.crt and tls.key into a folder, the names that a kubernetes.io/tls Secret has. */
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

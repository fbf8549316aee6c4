import { X509Certificate } from 'node:crypto'

const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** The certificates of a text of PEM; undefined where one does not hold. */
export function certificatesIn(pem: string): readonly X509Certificate[] | undefined {
  try {
    return (pem.match(PEM) ?? []).map((text) => new X509Certificate(text))
  } catch {
    return undefined
  }
}

/** What keeps any of a CA bundle's certificates from verifying anything; nothing where one can. */
export function bundleProblem(caBundle: string, now: number): string | undefined {
  const authorities = certificatesIn(caBundle)
  if (authorities === undefined || authorities.length === 0) return 'caBundle holds no certificate'
  const problems = authorities.map((authority) => validityProblem(authority, now))
  return problems.includes(undefined) ? undefined : `the CA in caBundle ${problems[0]}`
}

/**
 * Why the apiserver would not trust the server, as a sentence; nothing where it would. It verifies
 * as Go does: a path from the server's own certificate, through what the server sends along, to one
 * of the bundle's, and the name that it calls.
 *
 * @param serving the certificates that the server shows, its own first
 * @param host the name that the apiserver calls; undefined where that is an address
 */
export function servingProblem(
  caBundle: string,
  serving: string,
  host: string | undefined,
  now: number,
): string | undefined {
  const authorities = certificatesIn(caBundle) ?? []
  const [leaf, ...others] = certificatesIn(serving) ?? []
  if (leaf === undefined) return 'the server shows no certificate'
  const validity = validityProblem(leaf, now)
  if (validity !== undefined) return `the server's certificate ${validity}`
  if (host !== undefined && leaf.checkHost(host) === undefined)
    return `the server's certificate is not for ${host}`
  return isIssued(leaf, others, authorities)
    ? undefined
    : `caBundle does not verify the server's certificate, which ${commonName(leaf.issuer)} has issued`
}

function isIssued(
  certificate: X509Certificate,
  others: readonly X509Certificate[],
  authorities: readonly X509Certificate[],
): boolean {
  const isTrusted = authorities.some(
    (authority) => authority.raw.equals(certificate.raw) || hasIssued(authority, certificate),
  )
  if (isTrusted) return true
  const issuer = others.find((other) => hasIssued(other, certificate))
  return (
    issuer !== undefined &&
    isIssued(
      issuer,
      others.filter((other) => other !== issuer),
      authorities,
    )
  )
}

function hasIssued(issuer: X509Certificate, certificate: X509Certificate): boolean {
  return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)
}

function validityProblem(
  { validFromDate, validToDate }: X509Certificate,
  now: number,
): string | undefined {
  if (now > validToDate.getTime()) return `expired on ${validToDate.toISOString()}`
  return now < validFromDate.getTime()
    ? `is valid only from ${validFromDate.toISOString()}`
    : undefined
}

function commonName(issuer: string): string {
  return issuer.replaceAll('\n', ', ') || 'nobody named'
}

/** When the first of the certificates of a text of PEM ends, in milliseconds since 1970. */
export function expiry(pem: string): number {
  const [first] = certificatesIn(pem) ?? []
  return first?.validToDate.getTime() ?? 0
}

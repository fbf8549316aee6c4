import { X509Certificate } from 'node:crypto'

const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** Parses the certificates of a PEM text. Returns undefined if one of them cannot be parsed. */
export function certificatesIn(pem: string): readonly X509Certificate[] | undefined {
  try {
    return (pem.match(PEM) ?? []).map((text) => new X509Certificate(text))
  } catch {
    return undefined
  }
}

/**
 * Describes why no certificate of a CA bundle is valid now. Returns undefined if at least one
 * certificate is valid.
 *
 * @param now milliseconds since 1970
 */
export function bundleProblem(caBundle: string, now: number): string | undefined {
  const authorities = certificatesIn(caBundle)
  if (authorities === undefined || authorities.length === 0) return 'caBundle has no certificate'
  const problems = authorities.map((authority) => validityProblem(authority, now))
  return problems.includes(undefined) ? undefined : `the CA in caBundle ${problems[0]}`
}

/**
 * Describes, as a sentence, why the apiserver would not trust the server. Returns undefined if the
 * apiserver would trust the server. Like Go's crypto/x509, this function requires a path from the
 * server's own certificate, through the other certificates that the server sends, to a certificate
 * of the bundle. The function also checks the host name and the validity period of the server's
 * certificate.
 *
 * @param serving the certificates that the server presents as PEM, with its own certificate first
 * @param host the name that the apiserver calls; undefined for an IP address
 * @param now milliseconds since 1970
 */
export function servingProblem(
  caBundle: string,
  serving: string,
  host: string | undefined,
  now: number,
): string | undefined {
  const authorities = certificatesIn(caBundle) ?? []
  const [leaf, ...others] = certificatesIn(serving) ?? []
  if (leaf === undefined) return 'the server presents no certificate'
  const validity = validityProblem(leaf, now)
  if (validity !== undefined) return `the server's certificate ${validity}`
  if (host !== undefined && leaf.checkHost(host) === undefined)
    return `the server's certificate is not valid for ${host}`
  return isIssued(leaf, others, authorities)
    ? undefined
    : `caBundle does not verify the server's certificate, issued by ${commonName(leaf.issuer)}`
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
  return issuer.replaceAll('\n', ', ') || 'an unnamed authority'
}

/**
 * Returns the time at which the CA expires that has issued the server's certificate, in
 * milliseconds since 1970. If no CA of the bundle has issued it itself, returns the time at which
 * the last CA expires, or 0 if the bundle has no certificate or one that cannot be parsed.
 *
 * @param serving the certificates that the server presents as PEM, with its own certificate first
 */
export function authorityExpiry(caBundle: string, serving: string): number {
  const authorities = certificatesIn(caBundle) ?? []
  const [leaf] = certificatesIn(serving) ?? []
  const issuers = authorities.filter((authority) => leaf && hasIssued(authority, leaf))
  const concerned = issuers.length > 0 ? issuers : authorities
  return Math.max(0, ...concerned.map(({ validToDate }) => validToDate.getTime()))
}

/**
 * Returns the time at which the first certificate of a PEM text expires, in milliseconds since
 * 1970, or 0 if the text has no certificate or one that cannot be parsed.
 */
export function expiry(pem: string): number {
  const [first] = certificatesIn(pem) ?? []
  return first?.validToDate.getTime() ?? 0
}

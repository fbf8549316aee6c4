import { CERTIFICATE_BLOCK, parseCertificate } from '../certificate.ts'

/** A CA certificate of a caBundle. */
export interface BundledAuthority {
  /** The certificate in PEM as Node writes it, so that equal certificates are equal texts. */
  readonly pem: string
  /** The time at which the certificate expires, in milliseconds since 1970. */
  readonly notAfter: number
}

/** A caBundle: its certificates, and whether it contains anything that is not a certificate. */
export interface Bundle {
  readonly authorities: readonly BundledAuthority[]
  readonly isClean: boolean
}

/**
 * The maximum number of certificates in a bundle that this code writes. Usually there are two.
 * There are more only if the Secret is deleted again and again.
 */
const MAX_AUTHORITIES = 16

/** Reads the certificates of a caBundle in PEM. Other text is skipped. */
export function readBundle(pem: string): Bundle {
  const blocks = pem.match(CERTIFICATE_BLOCK) ?? []
  const authorities = blocks.flatMap((block) => readAuthority(block) ?? [])
  const isClean =
    authorities.length === blocks.length && pem.replace(CERTIFICATE_BLOCK, '').trim() === ''
  return { authorities, isClean }
}

function readAuthority(block: string): BundledAuthority | undefined {
  const certificate = parseCertificate(block)
  if (certificate === undefined) return undefined
  return { pem: certificate.toString(), notAfter: certificate.validToDate.getTime() }
}

/** Reports whether a bundle contains a certificate, in PEM as Node writes it. */
export function isBundled({ authorities }: Bundle, pem: string): boolean {
  return authorities.some((one) => one.pem === pem)
}

/**
 * Returns the certificates that every bundle should contain: the needed ones, and all others that
 * have not expired, because a server may still use a certificate of theirs. If there are too many,
 * those that expire first are left out.
 *
 * @param needed CA certificates that must be in the bundle, in PEM as Node writes it, the newest
 * first
 * @param now milliseconds since 1970
 */
export function composeBundle(
  needed: readonly string[],
  bundles: readonly Bundle[],
  now: number,
): readonly string[] {
  const others = bundles
    .flatMap(({ authorities }) => authorities)
    .filter(({ notAfter }) => notAfter > now)
    .sort((one, other) => other.notAfter - one.notAfter)
    .map(({ pem }) => pem)
  return [...new Set([...needed, ...others])].slice(0, MAX_AUTHORITIES)
}

/** Reports whether a bundle contains exactly these certificates, in any order. */
export function hasExactly({ authorities, isClean }: Bundle, pems: readonly string[]): boolean {
  const present = authorities.map(({ pem }) => pem)
  return isClean && present.length === pems.length && pems.every((pem) => present.includes(pem))
}

import type { Document } from '@xmldom/xmldom'
import { printable } from '../../../../src/core/text/printable.ts'
import { parseXml, readElement } from './bucket-xml.ts'

/** A response of a service that is no success. The message is for users. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError'
  readonly status: number
  /** The name of the error, such as NoSuchKey; empty if the response does not say it. */
  readonly code: string

  constructor(status: number, code: string, reason: string) {
    super(`${reason} (${[status, code].filter((part) => part !== '').join(' ')})`)
    this.status = status
    this.code = code
  }
}

/**
 * The reasons of errors, by their names (Amazon S3 API Reference, "Error responses"; AWS Security
 * Token Service API Reference, "AssumeRoleWithWebIdentity").
 */
const REASONS: Readonly<Record<string, string>> = {
  NoSuchBucket: 'the bucket does not exist',
  AccessDenied:
    'the credentials lack a right; the archive lists, gets, puts and deletes objects, and ' +
    'commands that read runs list and get them',
  InvalidAccessKeyId: 'the access key is not known there',
  SignatureDoesNotMatch: 'the secret access key does not belong to the access key',
  ExpiredToken: 'the credentials have expired',
  InvalidToken: 'the session token is not valid',
  RequestTimeTooSkewed: 'the clock of this machine and that of the bucket differ too much',
  AuthorizationHeaderMalformed: 'the bucket is in another region',
  PermanentRedirect: 'the bucket is in another region, or at another endpoint',
  EntityTooLarge: 'a file is too large for one request',
  SlowDown: 'too many requests',
  ExpiredTokenException: 'the token has expired',
  InvalidIdentityToken: 'the service does not accept the token: its issuer or audience is unknown',
}

/** The maximum number of characters of a text of the service. */
const MAX_LENGTH = 200

/** Makes an error of a response. @param body the body, in XML, perhaps cut or empty */
export function readServiceError(status: number, body: string): ServiceError {
  const error = parseXml(body)
  const code = printable(readElement(error, 'Code') ?? '', MAX_LENGTH)
  const said = printable(readElement(error, 'Message') ?? '', MAX_LENGTH)
  const reason = REASONS[code] ?? (said || 'the service refuses the request')
  return new ServiceError(status, code, `${reason}${describePlace(code, error)}`)
}

/** Says where the bucket is, as far as Amazon S3 does. */
function describePlace(code: string, error: Document | undefined): string {
  if (code !== 'AuthorizationHeaderMalformed' && code !== 'PermanentRedirect') return ''
  const place = readElement(error, 'Region') ?? readElement(error, 'Endpoint') ?? ''
  return place === '' ? '' : `: ${printable(place, MAX_LENGTH)}`
}

/** The errors of a request that was cut, changed or delayed on its way. */
const ON_THE_WAY = [
  'BadDigest',
  'IDPCommunicationError',
  'IncompleteBody',
  'RequestTimeout',
  'XAmzContentSHA256Mismatch',
]

/**
 * Reports whether a failed request may succeed at once: no complete response arrived, the service
 * was busy or failed, or the request did not arrive as it was sent.
 */
export function isTemporary(error: unknown): boolean {
  if (!(error instanceof ServiceError)) return true
  const { status, code } = error
  return status === 408 || status === 429 || status >= 500 || ON_THE_WAY.includes(code)
}

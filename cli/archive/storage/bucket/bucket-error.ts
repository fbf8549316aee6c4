import { printable } from '../../../../src/core/text/printable.ts'
import { readElement } from './bucket-xml.ts'

/** A response of a bucket that is no success. The message is for users. */
export class BucketError extends Error {
  override readonly name = 'BucketError'
  readonly status: number
  /** The name of the error, such as NoSuchKey; empty if the response does not say it. */
  readonly code: string

  constructor(status: number, code: string, reason: string) {
    super(`${reason} (${[status, code].filter((part) => part !== '').join(' ')})`)
    this.status = status
    this.code = code
  }
}

/** What to look at, by the name of an error (Amazon S3 API Reference, "Error responses"). */
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
}

/** The most characters of a text of the bucket. */
const MAX_LENGTH = 200

/** Makes an error of a response. @param body the body, in XML, perhaps cut or empty */
export function readBucketError(status: number, body: string): BucketError {
  const code = printable(readElement(body, 'Code') ?? '', MAX_LENGTH)
  const said = printable(readElement(body, 'Message') ?? '', MAX_LENGTH)
  const reason = REASONS[code] ?? (said || 'the bucket refuses the request')
  return new BucketError(status, code, `${reason}${describePlace(code, body)}`)
}

/** Says where the bucket is, as far as Amazon S3 does. */
function describePlace(code: string, body: string): string {
  if (code !== 'AuthorizationHeaderMalformed' && code !== 'PermanentRedirect') return ''
  const place = readElement(body, 'Region') ?? readElement(body, 'Endpoint') ?? ''
  return place === '' ? '' : `: ${printable(place, MAX_LENGTH)}`
}

/** The errors of a request that was cut, changed or delayed on its way to the bucket. */
const ON_THE_WAY = ['BadDigest', 'IncompleteBody', 'RequestTimeout', 'XAmzContentSHA256Mismatch']

/**
 * Reports whether a failed request may succeed at once: no complete response arrived, the bucket
 * was busy or failed, or the request did not arrive as it was sent.
 */
export function isTemporary(error: unknown): boolean {
  if (!(error instanceof BucketError)) return true
  const { status, code } = error
  return status === 408 || status === 429 || status >= 500 || ON_THE_WAY.includes(code)
}

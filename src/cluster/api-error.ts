import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { asText, fieldsOrNone, parseFields } from '../core/kubernetes/json.ts'
import { printable } from '../core/text/printable.ts'
import { errorMessage } from '../lib/error-message.ts'

/** An error response of the apiserver, or the ERROR event of a watch (meta/v1 Status). */
export class ApiError extends Error {
  readonly status: number
  /** The message of the apiserver or of a proxy, in one line. */
  readonly said: string
  /** The minimum pause before the request is repeated, in milliseconds; 0 if none was given. */
  readonly retryAfterMs: number

  constructor(status: number, said: string, retryAfterMs = 0) {
    const shown = printable(said)
    super(`the apiserver says ${status}: ${shown}`)
    this.status = status
    this.said = shown
    this.retryAfterMs = retryAfterMs
  }
}

/** Reports whether the object, or its kind, does not exist (404). */
export function isMissing(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404
}

/** Reports whether the object already exists, or has changed since it was read (409). */
export function isConflict(error: unknown): boolean {
  return error instanceof ApiError && error.status === 409
}

/** Reports whether a list has expired, so that its next page is not available any more (410). */
export function isExpired(error: unknown): boolean {
  return error instanceof ApiError && error.status === 410
}

/**
 * Returns the apiserver's message for its error, or the system's message for a failed request. The
 * caller adds the message to a sentence that names the request.
 */
export function describeApiError(error: unknown): string {
  return error instanceof ApiError ? error.said : errorMessage(error)
}

/** Describes an error of the apiserver or a failed request in a complete sentence. */
export function describeFailure(error: unknown): string {
  return error instanceof ApiError
    ? error.message
    : `the cluster does not answer: ${errorMessage(error)}`
}

const NO_REASON = 'no reason given'

/**
 * Reads the error in a response. The body is a Status with a message if it is from the apiserver.
 * A proxy can send any other body.
 */
export async function readApiError(response: IncomingMessage): Promise<ApiError> {
  const body = await text(response).catch(() => '')
  const { statusCode = 0, statusMessage = '', headers } = response
  const message = readMessage(body) ?? (statusMessage || NO_REASON)
  return new ApiError(statusCode, message, readRetryAfter(headers['retry-after']))
}

/** The maximum pause that a response may demand, in seconds. */
const MAX_RETRY_AFTER = 60

/** Reads the header Retry-After in whole seconds, as the apiserver sends it, in milliseconds. */
function readRetryAfter(header: string | undefined): number {
  if (header === undefined || !/^\d+$/.test(header)) return 0
  return Math.min(Number(header), MAX_RETRY_AFTER) * 1000
}

function readMessage(body: string): string | undefined {
  return asText(parseFields(body)?.message)
}

/** Converts a Status object to an error. */
export function apiErrorFrom(status: unknown): ApiError {
  const { code, message } = fieldsOrNone(status)
  return new ApiError(typeof code === 'number' ? code : 0, asText(message) ?? NO_REASON)
}

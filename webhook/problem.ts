import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { printable } from '../src/core/text/printable.ts'
import { quote } from '../src/core/text/quote.ts'
import { errorMessage } from '../src/lib/error-message.ts'
import type { Metrics } from './metrics.ts'

/**
 * The problems because of which a call gets an error instead of an AdmissionReview. The response
 * body and the Prometheus metric of reviews contain the key; the value is the HTTP status.
 */
const PROBLEMS = {
  'not-json': 400,
  'not-a-review': 400,
  'bad-request': 400,
  'untrusted-client': 403,
  'wrong-path': 404,
  'wrong-method': 405,
  'body-too-large': 413,
  'not-application-json': 415,
  overloaded: 503,
  'not-known-yet': 503,
  'internal-error': 500,
} as const

type CallProblem = keyof typeof PROBLEMS

/**
 * The problems for error codes of this server and for some error codes of Fastify (fastify
 * docs/Reference/Errors.md).
 */
const BY_CODE: Readonly<Record<string, CallProblem>> = {
  NOT_JSON: 'not-json',
  FST_ERR_CTP_BODY_TOO_LARGE: 'body-too-large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'not-application-json',
  NOT_A_REVIEW: 'not-a-review',
  NOT_KNOWN_YET: 'not-known-yet',
  OVERLOADED: 'overloaded',
}

/** Thrown for a request that would exceed the memory limit for request bodies. */
export class Overloaded extends Error {
  readonly code = 'OVERLOADED'
  readonly statusCode = 503

  constructor() {
    super('too many bytes of other requests are in memory: call again in 1 s')
  }
}

/** Thrown for a body that is not JSON. */
export class NotJson extends Error {
  readonly code = 'NOT_JSON'
  readonly statusCode = 400

  constructor(cause: unknown) {
    super(`not JSON: ${quote(errorMessage(cause))}`, { cause })
  }
}

/**
 * Thrown for an empty body, for JSON that is not an AdmissionReview, and for a text with too many
 * levels or elements.
 */
export class NotAReview extends Error {
  readonly code = 'NOT_A_REVIEW'
  readonly statusCode = 400
}

const MAX_MESSAGE_LENGTH = 1024

/** Answers a call with a status and a JSON error, and counts it with the outcome `invalid`. */
export function answerProblem(
  metrics: Metrics,
  reply: FastifyReply,
  problem: CallProblem,
  message: string,
): FastifyReply {
  metrics.reviews.inc({ outcome: 'invalid', reason: problem })
  const status = PROBLEMS[problem]
  // The apiserver repeats a call, even a POST, after a 503 with a Retry-After that is a whole
  // number of seconds (client-go rest/with_retry.go).
  if (status === 503) reply.header('retry-after', '1')
  return reply
    .code(status)
    .send({ error: problem, message: printable(message, MAX_MESSAGE_LENGTH) })
}

/** Returns the problem for an error that Fastify, a hook or a route threw. */
export function classifyError(error: FastifyError): CallProblem {
  const known = BY_CODE[error.code]
  if (known !== undefined) return known
  const status = error.statusCode ?? 500
  return status >= 400 && status < 500 ? 'bad-request' : 'internal-error'
}

/** Answers a call with an unknown path (404) or method (405). */
export function answerNotFound(
  metrics: Metrics,
  paths: readonly string[],
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const [path = ''] = request.url.split('?')
  if (!paths.includes(path)) {
    return answerProblem(
      metrics,
      reply,
      'wrong-path',
      `unknown path; the paths are ${paths.join(' and ')}`,
    )
  }
  return answerProblem(metrics, reply.header('allow', 'POST'), 'wrong-method', 'use POST')
}

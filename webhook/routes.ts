import type { Server } from 'node:https'
import { setImmediate } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { Review } from '../src/core/review.ts'
import { readBody } from './body.ts'
import type { ReceiveBody } from './intake.ts'
import { NotAReview } from './problem.ts'
import { handleNamespaceReview, handlePodReview, type ReviewFacts } from './review-handler.ts'
import type { Telemetry } from './telemetry.ts'

/** The paths of the webhook, as in the chart's MutatingWebhookConfiguration. */
export const PATHS = ['/mutate/pods', '/mutate/namespaces'] as const

/** Adds the two routes. The bodies of requests and responses are AdmissionReviews in JSON. */
export function addRoutes(
  app: FastifyInstance<Server>,
  receive: ReceiveBody,
  facts: ReviewFacts,
  telemetry: Telemetry,
): void {
  acceptReviews(app, receive)
  app.addHook('preHandler', turnEnd)
  const [pods, namespaces] = PATHS
  // The handler is async, so that all calls of this turn of the event loop are decided before a
  // response is written.
  app.post<{ Body?: Review }>(pods, { schema: ANSWER }, async ({ body }) => {
    return handlePodReview(requireReview(body), facts, telemetry)
  })
  app.post<{ Body?: Review }>(namespaces, { schema: ANSWER }, ({ body }) => {
    return handleNamespaceReview(requireReview(body), facts, telemetry)
  })
}

/** Makes JSON the only content type, and parses bodies as AdmissionReviews. */
function acceptReviews(app: FastifyInstance<Server>, receive: ReceiveBody): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', ({ raw }, payload, done) => {
    receive(raw, payload, (error, text = '') => {
      if (error) return done(error)
      try {
        done(null, readBody(text))
      } catch (problem) {
        done(problem as Error)
      }
    })
  })
}

/**
 * Rejects a request that has neither a body nor a content type. Fastify calls no parser for such a
 * request.
 */
function requireReview(review: Review | null | undefined): Review {
  if (review) return review
  throw new NotAReview('not an AdmissionReview: the body is empty')
}

let end: Promise<void> | undefined

/**
 * Resolves when the event loop has read all calls that have arrived. All waiting handlers share one
 * promise.
 *
 * The calls are then decided as a batch. If each call were read, decided and written before the
 * next call is read, these three steps would displace each other's code and data from the
 * processor's caches, and a decision would take twice as long. A single call does not wait for
 * other calls.
 */
export function turnEnd(): Promise<void> {
  end ??= setImmediate().then(() => {
    end = undefined
  })
  return end
}

const text = { type: 'string' }
/**
 * With the format `unsafe`, the serializer does not search for characters that JSON must escape.
 * The base64 alphabet (letters, digits, `+`, `/` and `=`) contains no such character.
 */
const base64 = { type: 'string', format: 'unsafe' }

/** The schema of a response, from which Fastify compiles a JSON serializer. */
const ANSWER = {
  response: {
    200: {
      type: 'object',
      properties: {
        apiVersion: text,
        kind: text,
        response: {
          type: 'object',
          properties: {
            uid: text,
            allowed: { type: 'boolean' },
            patchType: text,
            patch: base64,
            warnings: { type: 'array', items: text },
            status: {
              type: 'object',
              properties: { code: { type: 'integer' }, reason: text, message: text },
            },
          },
        },
      },
    },
  },
}

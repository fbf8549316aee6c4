import type { Server } from 'node:https'
import underPressure from '@fastify/under-pressure'
import Fastify, { type FastifyError, type FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Catalog, Privilege } from '../src/core/catalog.ts'
import type { Namespace } from '../src/core/namespace.ts'
import { reviewNamespace } from '../src/core/namespaces/arm-namespace.ts'
import { leavesItToNamespace, type Review } from '../src/core/review.ts'
import { allowAfterFault, type PodReview, reviewPod } from '../src/core/review-pod.ts'
import { ANSWER } from './answer-schema.ts'
import { readBody } from './body.ts'
import { acceptClients, type ClientOptions, clientTlsOf } from './client-certificates.ts'
import {
  type ConnectionLimits,
  limitConnections,
  timeoutsOf,
  WEBHOOK_CONNECTIONS,
} from './connections.ts'
import { INTAKE, type IntakeLimits, limitIntake, type ReceiveBody } from './intake.ts'
import { logNamespace, logPod } from './log.ts'
import type { Metrics } from './metrics.ts'
import { type NamespaceSource, NotKnownYet } from './namespaces.ts'
import { answerNotFound, answerProblem, classifyError, NotAReview, Overloaded } from './problem.ts'
import { turnEnd } from './turn.ts'

/** When callbacks wait this long, others can answer sooner: one second of the three. */
const MAX_EVENT_LOOP_DELAY_MS = 1000

const PATHS = ['/mutate/pods', '/mutate/namespaces'] as const

export interface AppOptions {
  readonly tls: { readonly cert: string; readonly key: string }
  /** The catalog of this moment. */
  readonly catalog: () => Catalog
  readonly namespaces: NamespaceSource
  readonly excludedNamespaces: ReadonlySet<string>
  /** The Pod Security level of namespaces whose label names none. */
  readonly podSecurityDefault?: Privilege | undefined
  /** The images that at least one node is known to hold now; there is none where nobody watches. */
  readonly heldImages?: (() => ReadonlySet<string>) | undefined
  readonly metrics: Metrics
  readonly log: Logger
  readonly maxEventLoopDelayMs?: number | undefined
  /** Which clients are accepted; all of them where absent. */
  readonly clients?: ClientOptions | undefined
  readonly connections?: ConnectionLimits | undefined
  readonly intake?: IntakeLimits | undefined
}

export type App = Awaited<ReturnType<typeof buildApp>>

/** How the server speaks TLS, at its start and after a new key pair or new authorities. */
export function secureContext({ cert, key }: AppOptions['tls'], clients?: ClientOptions) {
  return { cert, key, minVersion: 'TLSv1.2', ...clientTlsOf(clients) } as const
}

/** Builds the HTTPS server with its two routes; it does not listen. */
export async function buildApp(options: AppOptions) {
  const { metrics, tls, log, clients, connections = WEBHOOK_CONNECTIONS, intake = INTAKE } = options
  const timeouts = timeoutsOf(connections)
  const app = Fastify({
    logger: false,
    https: { ...secureContext(tls, clients), ...timeouts.tls, ...timeouts.server },
    ...timeouts.fastify,
    // While closing, calls on connections that are still open are answered like any other.
    return503OnClosing: false,
    // By then it has drained; a client that never sends its call must not keep it from ending.
    forceCloseConnections: true,
  })
  const countRefusal = () => metrics.reviews.inc({ outcome: 'invalid', reason: 'overloaded' })
  limitConnections(app, connections, countRefusal)
  if (clients) acceptClients(app, clients, options)
  acceptReviews(app, limitIntake(app, intake))
  app.setNotFoundHandler((request, reply) => answerNotFound(metrics, PATHS, request, reply))
  app.setErrorHandler<FastifyError>((error, _request, reply) => {
    const problem = classifyError(error)
    if (problem === 'internal-error') log.error({ err: error }, 'a call failed')
    // Fastify ends the connection after any error of a parser: see stopReading in intake.ts.
    if (error instanceof Overloaded) reply.removeHeader('connection')
    const message = problem === 'internal-error' ? 'see the log of the webhook' : error.message
    return answerProblem(metrics, reply, problem, message)
  })
  const { maxEventLoopDelayMs = MAX_EVENT_LOOP_DELAY_MS } = options
  await app.register(underPressure, {
    maxEventLoopDelay: maxEventLoopDelayMs,
    // An interval without a measurement counts as an endless delay, so it may not be shorter.
    sampleInterval: maxEventLoopDelayMs,
    pressureHandler: (_request, reply) => {
      answerProblem(metrics, reply, 'overloaded', 'ask again in 1 s')
    },
  })
  app.addHook('preHandler', turnEnd)
  // Async, so that no answer is written before the turn's last is found.
  app.post<{ Body?: Review }>('/mutate/pods', { schema: ANSWER }, async ({ body }) => {
    return handlePodReview(requireBody(body), options)
  })
  app.post<{ Body?: Review }>('/mutate/namespaces', { schema: ANSWER }, ({ body }) => {
    return handleNamespaceReview(requireBody(body), options)
  })
  return app
}

/** Makes JSON the only type of content, and reads it as an AdmissionReview. */
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

/** A call without body and content type meets no parser. */
function requireBody(review: Review | null | undefined): Review {
  if (review) return review
  throw new NotAReview('not an AdmissionReview: the body is empty')
}

function handlePodReview(review: Review, options: AppOptions) {
  const start = performance.now()
  const answer = (namespace: Namespace) => answerIn(namespace, review, start, options)
  const fail = (fault: unknown) => {
    if (fault instanceof NotKnownYet) throw fault
    return record(review, allowAfterFault(review, fault), 0, options)
  }
  try {
    const namespace = options.namespaces.find(review.namespace, leavesItToNamespace(review))
    // What a cache holds is answered in the same turn of the event loop.
    return namespace instanceof Promise ? namespace.then(answer).catch(fail) : answer(namespace)
  } catch (fault) {
    return fail(fault)
  }
}

function answerIn(namespace: Namespace, review: Review, start: number, options: AppOptions) {
  const { catalog, excludedNamespaces, podSecurityDefault } = options
  const heldImages = options.heldImages?.()
  const place = { namespace, excludedNamespaces, podSecurityDefault }
  const answer = reviewPod(review, { ...place, catalog: catalog(), heldImages })
  return record(review, answer, (performance.now() - start) / 1000, options)
}

/** Counts and logs what was decided. */
function record(review: Review, answer: PodReview, seconds: number, options: AppOptions) {
  const { metrics, log } = options
  const { decision } = answer
  const reason = 'reason' in decision ? decision.reason : decision.outcome
  metrics.duration.observe(seconds)
  metrics.reviews.inc({ outcome: decision.outcome, reason })
  if (decision.outcome === 'injected' && !review.dryRun) {
    for (const { metric } of decision.observers) metrics.injections.inc({ metric: metric.name })
  }
  logPod(log, review, answer, seconds)
  return answer.response
}

function handleNamespaceReview(review: Review, options: AppOptions) {
  const { catalog, excludedNamespaces, metrics, log } = options
  const answer = reviewNamespace(review, catalog(), excludedNamespaces)
  const reason = answer.fault === undefined ? 'namespace' : 'internal-error'
  metrics.reviews.inc({ outcome: answer.outcome, reason })
  logNamespace(log, review, answer)
  return answer.response
}

import underPressure from '@fastify/under-pressure'
import Fastify, { type FastifyError } from 'fastify'
import { acceptClients, type ClientOptions, clientTlsOf } from './client-certificates.ts'
import {
  type ConnectionLimits,
  limitConnections,
  timeoutsOf,
  WEBHOOK_CONNECTIONS,
} from './connections.ts'
import { INTAKE, type IntakeLimits, limitIntake } from './intake.ts'
import { answerNotFound, answerProblem, classifyError, Overloaded } from './problem.ts'
import type { ReviewFacts } from './review-handler.ts'
import { addRoutes, PATHS } from './routes.ts'
import type { Telemetry } from './telemetry.ts'

/**
 * The event loop delay above which calls are rejected, so that another replica can answer. With the
 * chart's default, the apiserver waits three seconds in total.
 */
const MAX_EVENT_LOOP_DELAY_MS = 1000

export interface AppOptions extends ReviewFacts, Telemetry {
  readonly tls: { readonly cert: string; readonly key: string }
  readonly maxEventLoopDelayMs?: number | undefined
  /** The clients that are accepted; if undefined, every client is accepted. */
  readonly clients?: ClientOptions | undefined
  readonly connections?: ConnectionLimits | undefined
  readonly intake?: IntakeLimits | undefined
}

export type App = Awaited<ReturnType<typeof buildApp>>

/** Returns the TLS options for a key pair and the accepted clients. */
export function secureContext({ cert, key }: AppOptions['tls'], clients?: ClientOptions) {
  return { cert, key, minVersion: 'TLSv1.2', ...clientTlsOf(clients) } as const
}

/** Builds the HTTPS server with its two routes; it does not listen yet. */
export async function buildApp(options: AppOptions) {
  const { metrics, tls, log, clients, connections = WEBHOOK_CONNECTIONS, intake = INTAKE } = options
  const timeouts = timeoutsOf(connections)
  const app = Fastify({
    logger: false,
    https: { ...secureContext(tls, clients), ...timeouts.tls, ...timeouts.server },
    ...timeouts.fastify,
    // While the server closes, requests on open connections are answered as usual.
    return503OnClosing: false,
    // The server closes only after it was drained (see serve.ts). A client that never sends its
    // request must not prevent the server from closing.
    forceCloseConnections: true,
  })
  const countOverload = () => metrics.reviews.inc({ outcome: 'invalid', reason: 'overloaded' })
  limitConnections(app, connections, countOverload)
  if (clients) acceptClients(app, clients, options)
  const receive = limitIntake(app, intake)
  app.setNotFoundHandler((request, reply) => answerNotFound(metrics, PATHS, request, reply))
  app.setErrorHandler<FastifyError>((error, _request, reply) => {
    const problem = classifyError(error)
    if (problem === 'internal-error') log.error({ err: error }, 'a request failed')
    // Fastify closes the connection after any error in the parsing of a body. After Overloaded the
    // connection must stay open: see stopReading in intake.ts.
    if (error instanceof Overloaded) reply.removeHeader('connection')
    const message = problem === 'internal-error' ? 'see the log of the webhook' : error.message
    return answerProblem(metrics, reply, problem, message)
  })
  const { maxEventLoopDelayMs = MAX_EVENT_LOOP_DELAY_MS } = options
  await app.register(underPressure, {
    maxEventLoopDelay: maxEventLoopDelayMs,
    // An interval without a measurement counts as an infinite delay. A permitted delay must not
    // fill a whole interval and prevent the measurement. Therefore the interval must not be
    // shorter than the maximum delay.
    sampleInterval: maxEventLoopDelayMs,
    pressureHandler: (_request, reply) => {
      answerProblem(metrics, reply, 'overloaded', 'the server is overloaded: call again in 1 s')
    },
  })
  addRoutes(app, receive, options, options)
  return app
}

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

/** At this event loop delay other replicas can answer sooner: one second of the webhook's three. */
const MAX_EVENT_LOOP_DELAY_MS = 1000

export interface AppOptions extends ReviewFacts, Telemetry {
  readonly tls: { readonly cert: string; readonly key: string }
  readonly maxEventLoopDelayMs?: number | undefined
  /** The clients that are accepted; all of them if undefined. */
  readonly clients?: ClientOptions | undefined
  readonly connections?: ConnectionLimits | undefined
  readonly intake?: IntakeLimits | undefined
}

export type App = Awaited<ReturnType<typeof buildApp>>

/** Returns the TLS options, at the start and after a change of the key pair or the authorities. */
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
    // The server has drained by then; a client that never sends its request must not keep the
    // server from closing.
    forceCloseConnections: true,
  })
  const countRefusal = () => metrics.reviews.inc({ outcome: 'invalid', reason: 'overloaded' })
  limitConnections(app, connections, countRefusal)
  if (clients) acceptClients(app, clients, options)
  const receive = limitIntake(app, intake)
  app.setNotFoundHandler((request, reply) => answerNotFound(metrics, PATHS, request, reply))
  app.setErrorHandler<FastifyError>((error, _request, reply) => {
    const problem = classifyError(error)
    if (problem === 'internal-error') log.error({ err: error }, 'a request failed')
    // After any parser error Fastify closes the connection: see stopReading in intake.ts.
    if (error instanceof Overloaded) reply.removeHeader('connection')
    const message = problem === 'internal-error' ? 'see the log of the webhook' : error.message
    return answerProblem(metrics, reply, problem, message)
  })
  const { maxEventLoopDelayMs = MAX_EVENT_LOOP_DELAY_MS } = options
  await app.register(underPressure, {
    maxEventLoopDelay: maxEventLoopDelayMs,
    // An interval without a measurement counts as an infinite delay, so the interval must not be
    // shorter.
    sampleInterval: maxEventLoopDelayMs,
    pressureHandler: (_request, reply) => {
      answerProblem(metrics, reply, 'overloaded', 'the server is overloaded: call again in 1 s')
    },
  })
  addRoutes(app, receive, options, options)
  return app
}

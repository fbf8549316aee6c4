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

/** When callbacks wait this long, others can answer sooner: one second of the three. */
const MAX_EVENT_LOOP_DELAY_MS = 1000

export interface AppOptions extends ReviewFacts, Telemetry {
  readonly tls: { readonly cert: string; readonly key: string }
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
    // While closing, requests on connections that are still open are answered like any other.
    return503OnClosing: false,
    // By then it has drained; a client that never sends its request must not keep it from ending.
    forceCloseConnections: true,
  })
  const countRefusal = () => metrics.reviews.inc({ outcome: 'invalid', reason: 'overloaded' })
  limitConnections(app, connections, countRefusal)
  if (clients) acceptClients(app, clients, options)
  const receive = limitIntake(app, intake)
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
  addRoutes(app, receive, options, options)
  return app
}

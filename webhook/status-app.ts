import Fastify from 'fastify'
import type { Registry } from 'prom-client'
import { printable } from '../src/core/text/printable.ts'
import {
  type ConnectionLimits,
  limitConnections,
  STATUS_CONNECTIONS,
  timeoutsOf,
} from './connections.ts'

/** A readiness check: its name, and its problem if there is one. */
export interface ReadinessCheck {
  readonly name: string
  readonly problem: string | undefined
  /** Whether the problem makes the server not ready. Other problems are only shown. */
  readonly fatal: boolean
}

export type StatusApp = ReturnType<typeof buildStatusApp>

/** Builds the plain HTTP server for kubelets and Prometheus; it does not listen yet. */
export function buildStatusApp(
  registry: Registry,
  checks: () => readonly ReadinessCheck[],
  connections: ConnectionLimits = STATUS_CONNECTIONS,
) {
  const timeouts = timeoutsOf(connections)
  const app = Fastify({ logger: false, http: timeouts.server, ...timeouts.fastify })
  limitConnections(app, connections)
  // No path takes a body, so no body is read into memory.
  app.removeAllContentTypeParsers()
  app.get('/healthz', async () => ({ status: 'ok' }))
  app.get('/readyz', async (_request, reply) => {
    const results = checks()
    const isReady = results.every(({ problem, fatal }) => problem === undefined || !fatal)
    reply.code(isReady ? 200 : 503)
    return {
      status: isReady ? 'ready' : 'not ready',
      checks: Object.fromEntries(
        results.map(({ name, problem }) => [name, printable(problem ?? 'ok')]),
      ),
    }
  })
  app.get('/metrics', async (_request, reply) => {
    reply.type(registry.contentType)
    return registry.metrics()
  })
  return app
}

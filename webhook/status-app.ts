import Fastify from 'fastify'
import type { Registry } from 'prom-client'

/** A condition of being ready: a word, and what stands in its way, if anything does. */
export interface Check {
  readonly name: string
  readonly problem: string | undefined
  /** Whether the problem keeps the server from answering; else it is only shown. */
  readonly fatal: boolean
}

/** Builds the plain HTTP server that kubelets and Prometheus ask. It does not listen. */
export function buildStatusApp(registry: Registry, checks: () => readonly Check[]) {
  const app = Fastify({ logger: false })
  app.get('/healthz', async () => ({ status: 'ok' }))
  app.get('/readyz', async (_request, reply) => {
    const results = checks()
    const isReady = results.every(({ problem, fatal }) => problem === undefined || !fatal)
    reply.code(isReady ? 200 : 503)
    return {
      status: isReady ? 'ready' : 'not ready',
      checks: Object.fromEntries(results.map(({ name, problem }) => [name, problem ?? 'ok'])),
    }
  })
  app.get('/metrics', async (_request, reply) => {
    reply.type(registry.contentType)
    return registry.metrics()
  })
  return app
}

import type { Server as PlainServer } from 'node:http'
import type { Server as SecureServer } from 'node:https'
import type { FastifyInstance } from 'fastify'

/** How long a server waits for a client, in milliseconds, and how many clients it has at once. */
export interface ConnectionLimits {
  /** The longest for a TLS handshake. */
  readonly handshakeMs: number
  /** The longest for a request, from its first byte, or from the connection's, to its last. */
  readonly requestMs: number
  /** Between two searches for requests that take longer than `requestMs`. */
  readonly checkMs: number
  /** The longest for a connection between two requests. */
  readonly keepAliveMs: number
  /** The most connections; further ones are closed as they come. */
  readonly connections: number
}

/**
 * The limits of the port that the apiserver calls.
 *
 * - It keeps idle connections for 90 s and never repeats a request that a closing connection swallowed,
 *   so the server keeps them longer (apimachinery pkg/util/net/http.go, IdleConnTimeout).
 * - It waits 30 s at most for a webhook, and 3 s for this one by default. A request that takes 10 s to
 *   arrive has no reader any more.
 * - It opens a connection for each concurrent call. An apiserver has 600 calls at once by default
 *   (--max-requests-inflight 400, --max-mutating-requests-inflight 200), and only the mutating ones
 *   can be here: 1,024 leave room for five apiservers that all call the same replica.
 */
export const WEBHOOK_CONNECTIONS: ConnectionLimits = {
  handshakeMs: 10_000,
  requestMs: 10_000,
  checkMs: 1000,
  keepAliveMs: 120_000,
  connections: 1024,
}

/**
 * The limits of the status port. A kubelet opens a connection for each probe, and Prometheus repeats a
 * GET whose connection was closed.
 */
export const STATUS_CONNECTIONS: ConnectionLimits = {
  handshakeMs: 10_000,
  requestMs: 10_000,
  checkMs: 1000,
  keepAliveMs: 10_000,
  connections: 256,
}

/**
 * The options that make Fastify's server cut slow clients off.
 *
 * Node looks for slow requests every 30 s by default, and Fastify sets `requestTimeout` only, so half a
 * header lived up to 90 s (node lib/_http_server.js, storeHTTPOptions; fastify lib/server.js,
 * getServerInstance). `server` goes to `http.createServer` or `https.createServer`.
 */
export function timeoutsOf({ handshakeMs, requestMs, checkMs, keepAliveMs }: ConnectionLimits) {
  return {
    fastify: {
      requestTimeout: requestMs,
      keepAliveTimeout: keepAliveMs,
      // Ends a connection on which nothing moves, such as one that reads no answer.
      connectionTimeout: Math.max(keepAliveMs, requestMs),
    },
    server: {
      requestTimeout: requestMs,
      headersTimeout: requestMs,
      connectionsCheckingInterval: checkMs,
    },
    tls: { handshakeTimeout: handshakeMs },
  } as const
}

/**
 * Bounds the connections of a server that does not listen yet.
 *
 * From half of the limit on, each answer ends its connection. So idle connections never take more than
 * one half, and the other half is free again after `requestMs`, however slow its clients are.
 *
 * @param onDrop called for each connection that is closed because there are too many
 */
export function limitConnections<S extends PlainServer | SecureServer>(
  app: Pick<FastifyInstance<S>, 'server' | 'addHook'>,
  { connections }: ConnectionLimits,
  onDrop: () => void = () => {},
): void {
  let open = 0
  app.server.maxConnections = connections
  app.server.on('drop', onDrop)
  app.server.on('connection', (socket) => {
    open += 1
    socket.once('close', () => {
      open -= 1
    })
  })
  app.addHook('onRequest', (_request, reply, done) => {
    if (open > connections / 2) reply.header('connection', 'close')
    done()
  })
}

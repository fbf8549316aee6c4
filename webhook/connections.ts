import type { Server as PlainServer } from 'node:http'
import type { Server as SecureServer } from 'node:https'
import type { FastifyInstance } from 'fastify'

/** Timeouts for clients, in milliseconds, and the maximum number of connections. */
export interface ConnectionLimits {
  /** The maximum duration of a TLS handshake. */
  readonly handshakeMs: number
  /**
   * The maximum time to receive a request. The time starts with the connection, or with the first
   * byte of a later request, and ends with the last byte.
   */
  readonly requestMs: number
  /** The time between two searches for requests that take longer than `requestMs`. */
  readonly checkMs: number
  /** The maximum time that a connection may be idle between two requests. */
  readonly keepAliveMs: number
  /** The maximum number of connections. Additional connections are closed at once. */
  readonly connections: number
}

/**
 * The limits of the port that the apiserver calls.
 *
 * - The apiserver keeps idle connections for 90 s (apimachinery pkg/util/net/http.go,
 *   IdleConnTimeout). The apiserver does not repeat a request that is lost when a connection
 *   closes, so the server keeps idle connections longer.
 * - With the chart's default, the apiserver waits 3 s for this webhook (at most 30 s for any
 *   webhook). With this default, the apiserver no longer waits for a response when a request has
 *   taken 10 s to arrive.
 * - The apiserver opens a connection for each concurrent call. By default an apiserver handles 600
 *   calls at once (--max-requests-inflight 400, --max-mutating-requests-inflight 200), and only
 *   mutating calls can reach this port. Five apiservers with 200 mutating calls each, all for the
 *   same replica, need 1,000 connections.
 */
export const WEBHOOK_CONNECTIONS: ConnectionLimits = {
  handshakeMs: 10_000,
  requestMs: 10_000,
  checkMs: 1000,
  keepAliveMs: 120_000,
  connections: 1024,
}

/**
 * The limits of the status port. A kubelet opens a connection for each probe, and Prometheus
 * repeats a GET if its connection was closed, so idle connections are closed after 10 s.
 */
export const STATUS_CONNECTIONS: ConnectionLimits = {
  handshakeMs: 10_000,
  requestMs: 10_000,
  checkMs: 1000,
  keepAliveMs: 10_000,
  connections: 256,
}

/**
 * Returns the options that make Fastify's server disconnect slow clients.
 *
 * By default, Node looks for slow requests every 30 s, and Fastify sets only `requestTimeout`. A
 * connection with an incomplete header would stay open for up to 90 s (node lib/_http_server.js,
 * storeHTTPOptions; fastify lib/server.js, getServerInstance). The field `server` of the result
 * contains the options for `http.createServer` and `https.createServer`.
 */
export function timeoutsOf({ handshakeMs, requestMs, checkMs, keepAliveMs }: ConnectionLimits) {
  return {
    fastify: {
      requestTimeout: requestMs,
      keepAliveTimeout: keepAliveMs,
      // Closes a connection without activity, for example if the client does not read the response.
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
 * Limits the connections of a server. Call this function before the server listens.
 *
 * While more than half of the maximum number of connections are open, each response closes its
 * connection. Idle connections therefore use at most one half of the limit. The other half becomes
 * free within `requestMs`, even if the clients are slow.
 *
 * @param onDrop called for each connection that is closed because the limit is reached
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

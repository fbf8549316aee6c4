import type { Server } from 'node:https'
import type { TLSSocket } from 'node:tls'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Metrics } from './metrics.ts'
import { answerProblem } from './problem.ts'

/** The clients that a server accepts. */
export interface ClientOptions {
  /**
   * Returns the current certificates, in PEM, of the authorities that issue client certificates.
   */
  readonly authorities: () => string
  /**
   * The accepted names. The certificate of a client must have one of these names as its common name
   * or as a DNS name. If the list is empty, any certificate from the authorities is accepted.
   */
  readonly names: readonly string[]
}

/** Returns the TLS options that require client certificates; none if `clients` is undefined. */
export function clientTlsOf(clients: ClientOptions | undefined) {
  if (clients === undefined) return {}
  return { ca: clients.authorities(), requestCert: true, rejectUnauthorized: true } as const
}

interface Client {
  /** The authorities with which the client's certificate was verified. */
  readonly authorities: string
  readonly isNamed: boolean
}

const LOG_EVERY_MS = 60_000

/**
 * Makes a server accept only clients with an accepted name. Call this function before the server
 * listens.
 *
 * TLS rejects a client without a valid certificate. A client whose certificate has no accepted name
 * receives 403. All rejections are counted, and at most one per minute is logged. If the apiserver
 * is rejected, pods get no observers.
 *
 * After the authorities have changed, each open connection closes with its next response. A client
 * that connects again is verified with the new authorities.
 */
export function acceptClients(
  app: FastifyInstance<Server>,
  { authorities, names }: ClientOptions,
  { metrics, log }: { readonly metrics: Metrics; readonly log: Logger },
): void {
  const clients = new WeakMap<object, Client>()
  const warn = atMostEvery(LOG_EVERY_MS, (problem: string) => {
    log.warn({ problem }, 'a client was refused')
  })
  app.server.on('secureConnection', (socket) => {
    clients.set(socket, { authorities: authorities(), isNamed: hasName(socket, names) })
  })
  app.server.on('tlsClientError', (error: NodeJS.ErrnoException, socket) => {
    const problem = certificateProblemOf(error, socket)
    if (problem === undefined) return
    metrics.reviews.inc({ outcome: 'invalid', reason: 'untrusted-client' })
    warn(problem)
  })
  app.addHook('onRequest', (request, reply, done) => {
    const client = clients.get(request.raw.socket)
    if (client?.authorities !== authorities()) reply.header('connection', 'close')
    if (client?.isNamed) return done()
    const problem = `the client's certificate has none of the names ${names.join(', ')}`
    warn(problem)
    answerProblem(metrics, reply.header('connection', 'close'), 'untrusted-client', problem)
  })
}

/**
 * Reports whether the client's certificate has one of the names. DNS names are compared as in TLS,
 * but without wildcards. Common names must be equal.
 */
function hasName(socket: TLSSocket, names: readonly string[]): boolean {
  if (names.length === 0) return true
  const certificate = socket.getPeerX509Certificate()
  const common = [socket.getPeerCertificate().subject?.CN].flat()
  return names.some((name) => {
    const isDnsName = certificate?.checkHost(name, { subject: 'never', wildcards: false })
    return isDnsName !== undefined || common.includes(name)
  })
}

/**
 * Returns the problem with the client's certificate if this problem made the handshake fail.
 * Returns undefined if the handshake failed for another reason.
 */
function certificateProblemOf(error: NodeJS.ErrnoException, socket: TLSSocket): string | undefined {
  if (error.code === 'ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE')
    return 'the client has no certificate'
  const { authorizationError: reason } = socket
  // The value is an OpenSSL code, such as CERT_HAS_EXPIRED, although Node's types declare an Error.
  return reason ? `the client's certificate is not valid: ${String(reason)}` : undefined
}

function atMostEvery<T>(ms: number, act: (value: T) => void): (value: T) => void {
  let last = Number.NEGATIVE_INFINITY
  return (value) => {
    if (performance.now() - last < ms) return
    last = performance.now()
    act(value)
  }
}

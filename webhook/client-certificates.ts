import type { Server } from 'node:https'
import type { TLSSocket } from 'node:tls'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Metrics } from './metrics.ts'
import { answerProblem } from './problem.ts'

/** Which clients a server accepts. */
export interface ClientOptions {
  /** The certificates of the authorities that issue the clients', PEM, as they are now. */
  readonly authorities: () => string
  /**
   * Names of which a client's certificate must have one, as its common name or as a DNS name. Without
   * any, each certificate of the authorities is accepted.
   */
  readonly names: readonly string[]
}

/** The options of a TLS server that requires a certificate of its clients. */
export function clientTlsOf(clients: ClientOptions | undefined) {
  if (clients === undefined) return {}
  return { ca: clients.authorities(), requestCert: true, rejectUnauthorized: true } as const
}

interface Client {
  /** The authorities that its certificate was verified with. */
  readonly authorities: string
  readonly isNamed: boolean
}

const LOG_EVERY_MS = 60_000

/**
 * Has a server, which does not listen yet, accept only the named clients: TLS itself refuses a client
 * without a valid certificate, and a client of another name is answered with 403. Both are counted, and
 * logged once a minute at most: while the apiserver is such a client, pods get no observers.
 *
 * After the authorities have changed, each open connection ends with its next answer, and the client
 * that opens a new one is verified with the new authorities.
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

/** A DNS name is compared as TLS does, without wildcards; a common name as it is. */
function hasName(socket: TLSSocket, names: readonly string[]): boolean {
  if (names.length === 0) return true
  const certificate = socket.getPeerX509Certificate()
  const common = [socket.getPeerCertificate().subject?.CN].flat()
  return names.some((name) => {
    const isDnsName = certificate?.checkHost(name, { subject: 'never', wildcards: false })
    return isDnsName !== undefined || common.includes(name)
  })
}

/** Why a handshake failed, if it is for the client's certificate; others break off for many reasons. */
function certificateProblemOf(error: NodeJS.ErrnoException, socket: TLSSocket): string | undefined {
  if (error.code === 'ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE')
    return 'the client has no certificate'
  const { authorizationError: reason } = socket
  // A code of OpenSSL, such as CERT_HAS_EXPIRED, though Node's types say Error.
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

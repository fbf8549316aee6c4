import { lookup } from 'node:dns/promises'
import type { AddressInfo } from 'node:net'
import type { Authorities } from '../certs/authorities.ts'
import type { Privilege } from '../src/core/catalog.ts'
import { pause } from '../src/lib/pause.ts'
import type { ClientOptions } from './client-certificates.ts'
import {
  followOwnCertificates,
  NO_KEY_PAIR,
  type OwnCertificateOptions,
} from './cluster/certificates/own-certificates.ts'
import { INTERVALS } from './cluster/intervals.ts'
import { clusterToWatch } from './cluster-to-watch.ts'
import {
  type FileOptions,
  type Files,
  type FollowedKeyPair,
  type FollowKeyPair,
  followFiles,
  followKeyPairFiles,
  type KeyPairFiles,
} from './files.ts'
import { findNamespaces, type NamespaceOptions } from './follow-namespaces.ts'
import { createMetrics, type Metrics } from './metrics.ts'
import { showImages } from './observer-images.ts'
import { type App, buildApp, secureContext } from './server.ts'
import { buildStatusApp, type ReadinessCheck, type StatusApp } from './status-app.ts'

export interface ServeOptions extends FileOptions, NamespaceOptions {
  /** The files of the key pair, or the objects in which the webhook keeps its own certificates. */
  readonly keyPair: KeyPairFiles | OwnCertificateOptions
  /** The Pod Security level of namespaces that have no label for it. */
  readonly podSecurityDefault?: Privilege | undefined
  /** The ports to listen on; 0 selects a free port. */
  readonly port: number
  readonly statusPort: number
  readonly host: string
  readonly drain: DrainOptions
  /**
   * If `clientCa` is set, a client's certificate must have one of these names. If the list is
   * empty, any name is accepted.
   */
  readonly clientNames?: readonly string[] | undefined
  /** Whether namespaces whose revision changes get the label `ridealong.dev/moved-from`. */
  readonly marksMoves?: boolean | undefined
  /**
   * The event loop delay, in milliseconds, above which calls are rejected; the default is in
   * server.ts.
   */
  readonly maxEventLoopDelayMs?: number | undefined
}

/** A running webhook. */
export interface Server {
  readonly port: number
  readonly statusPort: number
  /**
   * Makes the server not ready, answers with `Connection: close` until no more calls arrive, but at
   * most for `drain.limitMs`, and then closes the server.
   */
  close(): Promise<void>
}

/**
 * Starts the webhook: reads its files, listens on both ports, and follows the files and the
 * cluster. The server listens before it has listed the objects of the cluster, and becomes ready
 * afterwards.
 *
 * @throws an error that names the invalid file or the port that is not available; nothing is left
 * running
 */
export async function serve(options: ServeOptions): Promise<Server> {
  const { log, pace } = options
  const metrics = createMetrics()
  const { registry } = metrics
  const follow = await findNamespaces(options, metrics)
  let app: App | undefined
  const clientsOf = clientsWith(options.clientNames)
  const followKeyPair = await findKeyPair(options, metrics)
  const files = await followFiles(options, metrics, followKeyPair, (keyPair, current) => {
    app?.server.setSecureContext(secureContext(keyPair, clientsOf(current && { current })))
  })
  const catalog = () => files.catalog.current
  const namespaces = follow(catalog)
  const { heldImages, apiserverVersion, revisions } = namespaces
  const imageChecks = showImages({ registry, catalog, heldImages, pace })
  let isClosing = false
  const statusApp = buildStatusApp(registry, () => [
    { name: 'serving', problem: isClosing ? 'draining' : undefined, fatal: true },
    ...fileChecks(files),
    ...namespaces.checks(),
    ...imageChecks(),
  ])
  app = await buildApp({
    catalog,
    namespaces,
    heldImages,
    apiserverVersion,
    revisions,
    metrics,
    log,
    tls: files.keyPair.current,
    clients: clientsOf(files.authorities),
    excludedNamespaces: new Set(options.excludedNamespaces),
    ...pick(options),
  })
  // The key pair may have changed while the app was built.
  app.server.setSecureContext(secureContext(files.keyPair.current, clientsOf(files.authorities)))
  const traffic = watchTraffic(app)
  const stop = async () => {
    await Promise.all([files.stop(), namespaces.stop(), app?.close(), statusApp.close()])
  }
  await listen(app, statusApp, options).catch(async (error) => {
    await stop()
    throw error
  })
  return {
    port: portOf(app),
    statusPort: portOf(statusApp),
    async close() {
      isClosing = true
      await traffic.drain(options.drain)
      await stop()
    },
  }
}

/** Returns the options that do not depend on files or on the cluster. */
function pick({ podSecurityDefault, marksMoves, maxEventLoopDelayMs }: ServeOptions) {
  return { podSecurityDefault, marksMoves, maxEventLoopDelayMs }
}

/**
 * Listens on both ports of one address. The name localhost has an IPv4 and an IPv6 address. For
 * this name, Fastify would open a second server on the second address, without the limits of the
 * first server (fastify lib/server.js, multipleBindings).
 */
async function listen(app: App, statusApp: StatusApp, options: ServeOptions): Promise<void> {
  const { port, statusPort } = options
  const { address: host } = await lookup(options.host)
  await app.listen({ port, host })
  await statusApp.listen({ port: statusPort, host })
}

function portOf({ server }: App | StatusApp): number {
  return (server.address() as AddressInfo).port
}

function clientsWith(names: readonly string[] = []) {
  return (followed: { readonly current: Authorities } | undefined): ClientOptions | undefined => {
    return followed && { authorities: () => followed.current.pem, names }
  }
}

/**
 * Returns a function that starts to follow the key pair.
 *
 * @throws an error if the webhook makes its own certificates and no cluster is configured
 */
async function findKeyPair(
  { keyPair, environment, lookMs, log, pace = INTERVALS, ...cluster }: ServeOptions,
  { registry }: Metrics,
): Promise<FollowKeyPair> {
  if ('cert' in keyPair) return followKeyPairFiles(keyPair, lookMs)
  const access = await clusterToWatch(cluster, environment)
  const options = { own: keyPair, access, pace, registry, log }
  return async (listener) => followOwnCertificates({ ...options, ...listener })
}

function fileChecks({ catalog, keyPair, authorities }: Files): readonly ReadinessCheck[] {
  return [
    certificateCheck(keyPair),
    ...(keyPair.checks?.() ?? []),
    { name: 'catalog', problem: catalog.trouble, fatal: false },
    ...(authorities ? [{ name: 'client-ca', problem: authorities.trouble, fatal: false }] : []),
  ]
}

function certificateCheck({ current, trouble }: FollowedKeyPair): ReadinessCheck {
  const name = 'certificate'
  if (current === NO_KEY_PAIR)
    return { name, problem: trouble ?? 'there is no certificate', fatal: true }
  const { notAfter } = current
  const isOver = notAfter.getTime() <= Date.now()
  return {
    name,
    problem: isOver ? `expired at ${notAfter.toISOString()}` : trouble,
    fatal: isOver,
  }
}

/** Tracks the calls of a server, so that the server can close without interrupting a call. */
interface Traffic {
  /**
   * Closes each connection with its next response, and waits until all calls have ended and no call
   * has arrived for `quietMs` milliseconds, but at most `limitMs` milliseconds.
   */
  drain(options: DrainOptions): Promise<void>
}

interface DrainOptions {
  readonly quietMs: number
  readonly limitMs: number
}

const LOOK_MS = 50

/**
 * Tracks the calls of a server. Call this function before the server listens.
 *
 * The apiserver reuses its open connections, even to pods that are being removed from their
 * Service. The apiserver does not repeat a POST that is lost when a connection closes. A closing
 * server therefore keeps answering, with `Connection: close`, until no more calls arrive.
 */
function watchTraffic(app: App): Traffic {
  let lastCall = 0
  let open = 0
  let draining = false
  app.addHook('onRequest', (_request, reply, done) => {
    lastCall = performance.now()
    open += 1
    if (draining) reply.header('connection', 'close')
    done()
  })
  app.addHook('onResponse', (_request, _reply, done) => {
    open -= 1
    done()
  })
  app.addHook('onRequestAbort', (_request, done) => {
    open -= 1
    done()
  })
  return {
    async drain({ quietMs, limitMs }) {
      draining = true
      const start = performance.now()
      const isQuiet = () => open === 0 && performance.now() - Math.max(lastCall, start) >= quietMs
      while (!isQuiet() && performance.now() - start < limitMs) {
        await pause(LOOK_MS)
      }
    },
  }
}

import type { AddressInfo } from 'node:net'
import type { Privilege } from '../src/core/catalog.ts'
import { type App, buildApp, secureContextOf } from './app.ts'
import { type FileOptions, type Files, followFiles } from './files.ts'
import { findNamespaces, type NamespaceOptions } from './follow-namespaces.ts'
import { createMetrics } from './metrics.ts'
import { showImages } from './observer-images.ts'
import { buildStatusApp, type Check } from './status-app.ts'
import { type DrainOptions, watchTraffic } from './traffic.ts'

export interface ServeOptions extends FileOptions, NamespaceOptions {
  /** The Pod Security level of namespaces whose label names none. */
  readonly podSecurityDefault?: Privilege | undefined
  /** Ports to listen on; 0 takes one that is free. */
  readonly port: number
  readonly statusPort: number
  readonly host: string
  readonly drain: DrainOptions
  /** When callbacks wait this long, load is shed; the app's own bound where absent. */
  readonly maxEventLoopDelayMs?: number | undefined
}

/** A webhook that listens. */
export interface Server {
  readonly port: number
  readonly statusPort: number
  /** Not ready, then `Connection: close` until quiet, then closed. */
  close(): Promise<void>
}

/**
 * Starts the webhook: reads its files, listens on both ports, follows the files and the cluster. It
 * listens before it knows the cluster, and is ready when it does.
 *
 * @throws an error that names the file or the port which stands in the way; nothing is left running
 */
export async function serve(options: ServeOptions): Promise<Server> {
  const { log, pace } = options
  const metrics = createMetrics()
  const { registry } = metrics
  const follow = await findNamespaces(options, metrics)
  let app: App | undefined
  const files = await followFiles(options, metrics, (keyPair) => {
    app?.server.setSecureContext(secureContextOf(keyPair))
  })
  const namespaces = follow()
  const { heldImages } = namespaces
  const catalog = () => files.catalog.current
  const imageChecks = showImages({ registry, catalog, heldImages, pace })
  let isClosing = false
  const statusApp = buildStatusApp(registry, () => [
    { name: 'serving', problem: isClosing ? 'draining' : undefined, fatal: true },
    ...fileChecks(files),
    ...namespaces.checks(),
    ...imageChecks(),
  ])
  app = await buildApp({
    ...{ catalog, namespaces, heldImages, metrics, log },
    tls: files.keyPair.current,
    excludedNamespaces: new Set(options.excludedNamespaces),
    podSecurityDefault: options.podSecurityDefault,
    maxEventLoopDelayMs: options.maxEventLoopDelayMs,
  })
  const traffic = watchTraffic(app)
  const stop = async () => {
    for (const followed of [files.catalog, files.keyPair]) followed.stop()
    await Promise.all([namespaces.stop(), app?.close(), statusApp.close()])
  }
  try {
    await app.listen({ port: options.port, host: options.host })
    await statusApp.listen({ port: options.statusPort, host: options.host })
  } catch (error) {
    await stop()
    throw error
  }
  return {
    port: (app.server.address() as AddressInfo).port,
    statusPort: (statusApp.server.address() as AddressInfo).port,
    async close() {
      isClosing = true
      await traffic.drain(options.drain)
      await stop()
    },
  }
}

function fileChecks({ catalog, keyPair }: Files): readonly Check[] {
  const { notAfter } = keyPair.current
  const isOver = notAfter.getTime() <= Date.now()
  return [
    {
      name: 'certificate',
      problem: isOver ? `ended ${notAfter.toISOString()}` : keyPair.trouble,
      fatal: isOver,
    },
    { name: 'catalog', problem: catalog.trouble, fatal: false },
  ]
}

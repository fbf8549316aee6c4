import type { AddressInfo } from 'node:net'
import { type App, buildApp, secureContextOf } from './app.ts'
import { type FileOptions, type Files, followFiles } from './files.ts'
import { createMetrics } from './metrics.ts'
import { buildStatusApp, type Check } from './status-app.ts'
import { type DrainOptions, watchTraffic } from './traffic.ts'

export interface ServeOptions extends FileOptions {
  /** Ports to listen on; 0 takes one that is free. */
  readonly port: number
  readonly statusPort: number
  readonly host: string
  readonly excludedNamespaces: readonly string[]
  readonly drain: DrainOptions
}

/** A webhook that listens. */
export interface Server {
  readonly port: number
  readonly statusPort: number
  /** Not ready, then `Connection: close` until quiet, then closed. */
  close(): Promise<void>
}

/**
 * Starts the webhook: reads its files, listens on both ports, follows the files.
 *
 * @throws an error that names the file or the port which stands in the way; nothing is left running
 */
export async function serve(options: ServeOptions): Promise<Server> {
  const { log } = options
  const metrics = createMetrics()
  let app: App | undefined
  const files = await followFiles(options, metrics, (keyPair) => {
    app?.server.setSecureContext(secureContextOf(keyPair))
  })
  let isClosing = false
  const statusApp = buildStatusApp(metrics.registry, () => checks(files, isClosing))
  app = await buildApp({
    tls: files.keyPair.current,
    catalog: () => files.catalog.current,
    namespaces: { find: (name) => files.namespaces.current.find(name) },
    excludedNamespaces: new Set(options.excludedNamespaces),
    metrics,
    log,
  })
  const traffic = watchTraffic(app)
  const stop = async () => {
    for (const file of Object.values(files)) file.stop()
    await Promise.all([app?.close(), statusApp.close()])
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

function checks({ catalog, namespaces, keyPair }: Files, isClosing: boolean): readonly Check[] {
  const { notAfter } = keyPair.current
  const isOver = notAfter.getTime() <= Date.now()
  return [
    { name: 'serving', problem: isClosing ? 'draining' : undefined, fatal: true },
    {
      name: 'certificate',
      problem: isOver ? `ended ${notAfter.toISOString()}` : keyPair.trouble,
      fatal: isOver,
    },
    { name: 'catalog', problem: catalog.trouble, fatal: false },
    { name: 'namespaces', problem: namespaces.trouble, fatal: false },
  ]
}

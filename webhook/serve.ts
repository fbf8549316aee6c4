import type { AddressInfo } from 'node:net'
import type { Logger } from 'pino'
import { type Followed, follow } from '../certs/follow.ts'
import { type KeyPair, readKeyPair } from '../certs/key-pair.ts'
import { loadCatalog } from '../src/catalog/load.ts'
import type { Catalog } from '../src/core/catalog.ts'
import { type App, buildApp } from './app.ts'
import { createMetrics, type Metrics } from './metrics.ts'
import { type NamespaceFile, readNamespaceFile } from './namespaces.ts'
import { buildStatusApp, type Check } from './status-app.ts'
import { type DrainOptions, watchTraffic } from './traffic.ts'

export interface ServeOptions {
  /** Paths of the certificate and its key, PEM. Both are followed. */
  readonly cert: string
  readonly key: string
  /** Ports to listen on; 0 takes one that is free. */
  readonly port: number
  readonly statusPort: number
  readonly host: string
  /** A file of Namespaces. It is followed. */
  readonly namespaces: string
  /** A folder of catalog documents. It is followed. */
  readonly catalog?: string | undefined
  readonly observerImage?: string | undefined
  readonly excludedNamespaces: readonly string[]
  readonly drain: DrainOptions
  /** Milliseconds between two looks at the files. */
  readonly lookMs: number
  readonly log: Logger
}

/** A webhook that listens. */
export interface Server {
  readonly port: number
  readonly statusPort: number
  /** Not ready, then `Connection: close` until quiet, then closed. */
  close(): Promise<void>
}

/** What a running server follows. */
interface Files {
  readonly catalog: Followed<Catalog>
  readonly namespaces: Followed<NamespaceFile>
  readonly keyPair: Followed<KeyPair>
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
    app?.server.setSecureContext({ cert: keyPair.cert, key: keyPair.key, minVersion: 'TLSv1.2' })
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

async function followFiles(
  options: ServeOptions,
  metrics: Metrics,
  swap: (keyPair: KeyPair) => void,
): Promise<Files> {
  const { catalog: folder, observerImage, log, lookMs: everyMs } = options
  const readCatalog = () => loadCatalog({ folder, observerImage })
  const readNamespaces = () => readNamespaceFile(options.namespaces)
  const readPair = () => readKeyPair(options.cert, options.key)
  const [catalog, namespaces, keyPair] = await Promise.all([
    readCatalog(),
    readNamespaces(),
    readPair(),
  ])
  showCatalog(metrics, catalog)
  showExpiry(metrics, keyPair)
  const reload = <T>(what: string, apply: (reading: T) => void) => ({
    everyMs,
    onChange(reading: T) {
      apply(reading)
      log.info({ what }, 'reloaded')
    },
    onTrouble(trouble: string) {
      metrics.reloadFailures.inc({ what })
      log.error({ what, trouble }, 'the last good content keeps serving')
    },
  })
  const applyPair = (pair: KeyPair) => {
    swap(pair)
    showExpiry(metrics, pair)
  }
  return {
    catalog: follow(
      catalog,
      readCatalog,
      reload('catalog', (current: Catalog) => showCatalog(metrics, current)),
    ),
    namespaces: follow(
      namespaces,
      readNamespaces,
      reload('namespaces', () => {}),
    ),
    keyPair: follow(keyPair, readPair, reload('certificate', applyPair)),
  }
}

function showCatalog(metrics: Metrics, { revision }: Catalog): void {
  metrics.catalogInfo.reset()
  metrics.catalogInfo.set({ revision }, 1)
}

function showExpiry(metrics: Metrics, { notAfter }: KeyPair): void {
  metrics.certificateExpiry.set(notAfter.getTime() / 1000)
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

import type { Logger } from 'pino'
import { type Followed, follow } from '../certs/follow.ts'
import { type KeyPair, readKeyPair } from '../certs/key-pair.ts'
import { loadCatalog } from '../src/catalog/load.ts'
import type { Catalog } from '../src/core/catalog.ts'
import type { Metrics } from './metrics.ts'
import { type NamespaceFile, readNamespaceFile } from './namespaces.ts'

export interface FileOptions {
  /** Paths of the certificate and its key, PEM. Both are followed. */
  readonly cert: string
  readonly key: string
  /** A file of Namespaces. It is followed. */
  readonly namespaces: string
  /** A folder of catalog documents. It is followed. */
  readonly catalog?: string | undefined
  readonly observerImage?: string | undefined
  /** Milliseconds between two looks at the files. */
  readonly lookMs: number
  readonly log: Logger
}

/** What a running server follows. */
export interface Files {
  readonly catalog: Followed<Catalog>
  readonly namespaces: Followed<NamespaceFile>
  readonly keyPair: Followed<KeyPair>
}

/**
 * Reads the files of a server and follows them.
 *
 * @param swap takes a new key pair into use, or throws; then the old one stays
 * @throws an error that names the file which does not hold
 */
export async function followFiles(
  options: FileOptions,
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

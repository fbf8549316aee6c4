import type { Logger } from 'pino'
import { type Followed, follow } from '../certs/follow.ts'
import { type KeyPair, readKeyPair } from '../certs/key-pair.ts'
import { loadCatalog } from '../src/catalog/load.ts'
import type { Catalog } from '../src/core/catalog.ts'
import type { Metrics } from './metrics.ts'

export interface FollowOptions {
  /** Milliseconds between two looks at a file. */
  readonly lookMs: number
  readonly log: Logger
}

export interface FileOptions extends FollowOptions {
  /** Paths of the certificate and its key, PEM. Both are followed. */
  readonly cert: string
  readonly key: string
  /** A folder of catalog documents. It is followed. */
  readonly catalog?: string | undefined
  readonly observerImage?: string | undefined
}

/** What a running server follows. */
export interface Files {
  readonly catalog: Followed<Catalog>
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
  const { catalog: folder, observerImage } = options
  const readCatalog = () => loadCatalog({ folder, observerImage })
  const readPair = () => readKeyPair(options.cert, options.key)
  const [catalog, keyPair] = await Promise.all([readCatalog(), readPair()])
  showCatalog(metrics, catalog)
  showExpiry(metrics, keyPair)
  const applyPair = (pair: KeyPair) => {
    swap(pair)
    showExpiry(metrics, pair)
  }
  const reload = reloader(options, metrics)
  const applyCatalog = (current: Catalog) => showCatalog(metrics, current)
  return {
    catalog: follow(catalog, readCatalog, reload('catalog', applyCatalog)),
    keyPair: follow(keyPair, readPair, reload('certificate', applyPair)),
  }
}

/** What is done with a new reading of a file: it is taken into use, and told. */
export function reloader({ lookMs: everyMs, log }: FollowOptions, metrics: Metrics) {
  return <T>(what: string, apply: (reading: T) => void) => ({
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
}

function showCatalog(metrics: Metrics, { revision }: Catalog): void {
  metrics.catalogInfo.reset()
  metrics.catalogInfo.set({ revision }, 1)
}

function showExpiry(metrics: Metrics, { notAfter }: KeyPair): void {
  metrics.certificateExpiry.set(notAfter.getTime() / 1000)
}

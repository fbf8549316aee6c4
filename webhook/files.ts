import type { Logger } from 'pino'
import { type Authorities, readAuthorities } from '../certs/authorities.ts'
import { type Followed, follow } from '../certs/follow.ts'
import { type KeyPair, readKeyPair } from '../certs/key-pair.ts'
import { loadCatalog } from '../src/catalog/load.ts'
import type { Catalog } from '../src/core/catalog.ts'
import type { Metrics } from './metrics.ts'

export interface FileFollowOptions {
  /** Milliseconds between two readings of a file. */
  readonly lookMs: number
  readonly log: Logger
}

export interface FileOptions extends FileFollowOptions {
  /**
   * The paths of the certificate and its private key, in PEM. Both files are reloaded when they
   * change.
   */
  readonly cert: string
  readonly key: string
  /**
   * The path of a PEM file with the certificates of the authorities that issue client certificates.
   * The file is reloaded when it changes.
   */
  readonly clientCa?: string | undefined
  /** A folder of catalog documents, which is reloaded when a document changes. */
  readonly catalog?: string | undefined
  readonly observerImage?: string | undefined
}

/** The files of a running server, which are reloaded when they change. */
export interface Files {
  readonly catalog: Followed<Catalog>
  readonly keyPair: Followed<KeyPair>
  /** Undefined if clients need no certificate. */
  readonly authorities: Followed<Authorities> | undefined
  stop(): void
}

/**
 * Reads the files of a server, and reloads them when they change.
 *
 * @param swap applies a new key pair or new authorities; if `swap` throws, the old ones stay in use
 * @throws an error that names the invalid file
 */
export async function followFiles(
  options: FileOptions,
  metrics: Metrics,
  swap: (keyPair: KeyPair, authorities: Authorities | undefined) => void,
): Promise<Files> {
  const { catalog: folder, observerImage, clientCa } = options
  const readCatalog = () => loadCatalog({ folder, observerImage })
  const readPair = () => readKeyPair(options.cert, options.key)
  const [catalog, firstPair, authorities] = await Promise.all([
    readCatalog(),
    readPair(),
    clientCa && readAuthorities(clientCa),
  ])
  showCatalog(metrics, catalog)
  showExpiry(metrics, firstPair)
  const reload = reloader(options, metrics)
  const followedAuthorities =
    clientCa && authorities
      ? follow(
          authorities,
          () => readAuthorities(clientCa),
          reload('client-ca', (current) => swap(keyPair.current, current)),
        )
      : undefined
  const applyPair = (pair: KeyPair) => {
    swap(pair, followedAuthorities?.current)
    showExpiry(metrics, pair)
  }
  const keyPair = follow(firstPair, readPair, reload('certificate', applyPair))
  const applyCatalog = (current: Catalog) => showCatalog(metrics, current)
  const followedCatalog = follow(catalog, readCatalog, reload('catalog', applyCatalog))
  return {
    catalog: followedCatalog,
    keyPair,
    authorities: followedAuthorities,
    stop() {
      for (const each of [followedCatalog, keyPair, followedAuthorities]) each?.stop()
    },
  }
}

/**
 * Returns a function that creates the options of `follow` for one file or folder. With these
 * options, a new reading is applied and logged, and an error is counted and logged.
 */
export function reloader({ lookMs: everyMs, log }: FileFollowOptions, metrics: Metrics) {
  return <T>(what: string, apply: (reading: T) => void) => ({
    everyMs,
    onChange(reading: T) {
      apply(reading)
      log.info({ what }, 'reloaded')
    },
    onTrouble(trouble: string) {
      metrics.reloadFailures.inc({ what })
      log.error({ what, trouble }, 'cannot reload; the last valid content stays in use')
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

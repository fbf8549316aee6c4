import type { Logger } from 'pino'
import { type Authorities, readAuthorities } from '../certs/authorities.ts'
import { type Followed, type FollowOptions, follow } from '../certs/follow.ts'
import { type KeyPair, readKeyPair } from '../certs/key-pair.ts'
import { loadCatalog } from '../src/catalog/load.ts'
import type { Catalog } from '../src/core/catalog.ts'
import type { Metrics } from './metrics.ts'
import type { ReadinessCheck } from './status-app.ts'

export interface FileFollowOptions {
  /** Milliseconds between two readings of a file. */
  readonly lookMs: number
  readonly log: Logger
}

/** The paths of a certificate and its private key, in PEM, which are reloaded when they change. */
export interface KeyPairFiles {
  readonly cert: string
  readonly key: string
}

export interface FileOptions extends FileFollowOptions {
  /**
   * The path of a PEM file with the certificates of the authorities that issue client certificates.
   * The file is reloaded when it changes.
   */
  readonly clientCa?: string | undefined
  /** A folder of catalog documents, which is reloaded when a document changes. */
  readonly catalog?: string | undefined
  /** Whether the folder has all metrics, so that the built-in ones are not added. */
  readonly isCatalogWhole?: boolean | undefined
  readonly observerImage?: string | undefined
}

/** The files of a running server, which are reloaded when they change. */
export interface Files {
  readonly catalog: Followed<Catalog>
  readonly keyPair: FollowedKeyPair
  /** Undefined if clients need no certificate. */
  readonly authorities: Followed<Authorities> | undefined
  stop(): Promise<void>
}

/** A key pair that is reloaded when it changes, and whose source may have checks of its own. */
export interface FollowedKeyPair extends Omit<Followed<KeyPair>, 'stop'> {
  checks?(): readonly ReadinessCheck[]
  stop(): void | Promise<void>
}

/** A function that is called when a reading has changed or failed, as in `follow`. */
export type KeyPairListener = Pick<FollowOptions<KeyPair>, 'onChange' | 'onTrouble'>

/** Starts to follow a key pair. */
export type FollowKeyPair = (listener: KeyPairListener) => Promise<FollowedKeyPair>

/**
 * Returns a function that reads a key pair from files, and reloads it when the files change.
 *
 * @throws (the returned function) an error that names the invalid file
 */
export function followKeyPairFiles({ cert, key }: KeyPairFiles, everyMs: number): FollowKeyPair {
  const read = () => readKeyPair(cert, key)
  return async (listener) => {
    const first = await read()
    return follow(first, read, { everyMs, ...listener })
  }
}

/**
 * Reads the files of a server, and reloads them when they change.
 *
 * @param followKeyPair starts to follow the key pair of the server
 * @param swap applies a new key pair or new authorities; if `swap` throws, the old ones stay in use
 * @throws an error that names the invalid file
 */
export async function followFiles(
  options: FileOptions,
  metrics: Metrics,
  followKeyPair: FollowKeyPair,
  swap: (keyPair: KeyPair, authorities: Authorities | undefined) => void,
): Promise<Files> {
  const { catalog: folder, isCatalogWhole: isWhole, observerImage, clientCa } = options
  const readCatalog = () => loadCatalog({ folder, isWhole, observerImage })
  const [catalog, authorities] = await Promise.all([
    readCatalog(),
    clientCa && readAuthorities(clientCa),
  ])
  showCatalog(metrics, catalog)
  const reload = reloader(options, metrics)
  let followedAuthorities: Followed<Authorities> | undefined
  const applyPair = (pair: KeyPair) => {
    swap(pair, followedAuthorities?.current)
    showExpiry(metrics, pair)
  }
  const keyPair = await followKeyPair(reload('certificate', applyPair))
  showExpiry(metrics, keyPair.current)
  followedAuthorities =
    clientCa && authorities
      ? follow(
          authorities,
          () => readAuthorities(clientCa),
          reload('client-ca', (current) => swap(keyPair.current, current)),
        )
      : undefined
  const applyCatalog = (current: Catalog) => showCatalog(metrics, current)
  const followedCatalog = follow(catalog, readCatalog, reload('catalog', applyCatalog))
  return {
    catalog: followedCatalog,
    keyPair,
    authorities: followedAuthorities,
    async stop() {
      for (const each of [followedCatalog, followedAuthorities]) each?.stop()
      await keyPair.stop()
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

import type { Logger } from 'pino'
import type { ClusterName } from '../../src/cluster/access.ts'
import { EXCLUDED_NAMESPACES } from '../../src/core/kubernetes/namespace-name.ts'
import { logDestination, openLog } from '../../webhook/log.ts'
import { type ServeOptions, serve as startServer } from '../../webhook/serve.ts'
import { UsageError, usageError } from '../shared/errors.ts'
import type { Session } from '../shared/session.ts'
import { isWithoutBuiltInMetrics, type SettingOptions } from '../shared/settings.ts'

export interface ServeArguments extends SettingOptions, ClusterName {
  readonly cert?: string
  readonly key?: string
  readonly ownCertificate?: string
  readonly certificateHost?: readonly string[]
  readonly certificateLease?: string
  readonly webhookConfiguration?: string
  /** Milliseconds. */
  readonly certificateDuration?: number
  readonly clientCa?: string
  readonly clientName?: readonly string[]
  readonly imageHolders?: string
  readonly scanLease?: string
  readonly scanInterval?: number
  readonly revision?: string
  readonly markMoves?: boolean
  readonly host: string
  readonly port: number
  readonly statusPort: number
  readonly drainQuiet: number
  readonly drainLimit: number
  readonly logLevel: string
}

/** Seconds between two checks for changes of the certificate and other files. */
const LOOK_SECONDS = 5

/**
 * Runs `ridealong serve`: answers reviews until SIGTERM or SIGINT, then drains.
 *
 * @throws UsageError with the option, the file or the port that prevents the start, or if no
 * cluster is configured
 */
export async function serve(options: ServeArguments, session: Session): Promise<void> {
  const { scanLease, scanInterval, clientCa, clientName } = options
  const isCatalogWhole = isWithoutBuiltInMetrics(options)
  if (scanInterval !== undefined && scanLease === undefined)
    throw new UsageError(
      '--scan-interval needs --scan-lease, which turns on the search for pods without observers',
    )
  if (clientName !== undefined && clientCa === undefined)
    throw new UsageError(
      '--client-name needs --client-ca: without it, clients present no certificate',
    )
  const keyPair = resolveKeyPair(options)
  const log = openLog(
    options.logLevel,
    logDestination(session.stdout, { sync: false, minLength: LOG_BATCH, periodicFlush: 1000 }),
  )
  const server = await startServer({
    ...options,
    environment: session.environment,
    keyPair,
    clientNames: clientName,
    marksMoves: options.markMoves,
    excludedNamespaces: options.excludeNamespace ?? EXCLUDED_NAMESPACES,
    drain: { quietMs: options.drainQuiet * 1000, limitMs: options.drainLimit * 1000 },
    isCatalogWhole,
    scanMs: scanInterval && scanInterval * 1000,
    lookMs: LOOK_SECONDS * 1000,
    log,
  }).catch(usageError)
  log.info({ port: server.port, statusPort: server.statusPort }, 'listening')
  await session.untilStopped({
    limitMs: options.drainLimit * 1000 + 5000,
    log,
    close: async (signal) => {
      log.info({ signal }, 'draining')
      await server.close()
      log.info('closed')
      await flushed(log)
    },
  })
}

const OWN_CERTIFICATE_MS = 2160 * 60 * 60 * 1000

/** @throws UsageError if the options for the certificate are incomplete */
function resolveKeyPair(options: ServeArguments): ServeOptions['keyPair'] {
  const { cert, key, ownCertificate: secret, certificateHost: names } = options
  const { certificateLease: lease, webhookConfiguration } = options
  if (secret === undefined) {
    if (cert === undefined || key === undefined)
      throw new UsageError('serve needs --cert and --key, or --own-certificate')
    return { cert, key }
  }
  if (names === undefined || lease === undefined || webhookConfiguration === undefined)
    throw new UsageError(
      '--own-certificate needs --certificate-host, --certificate-lease and --webhook-configuration',
    )
  const { certificateDuration: durationMs = OWN_CERTIFICATE_MS } = options
  return { secret, names, lease, webhookConfiguration, durationMs }
}

/**
 * The number of characters of log lines that are written together. Fewer characters are written
 * after a second. Each write wakes a thread, which took 5 % of a busy server's time at 4 KiB.
 * The number must be less than 16 KiB, the most that sonic-boom, pino's writer, writes at once.
 */
const LOG_BATCH = 15 * 1024

/**
 * Waits until the log is written. The log is written in the background, and without this wait the
 * last lines, which describe the shutdown, would be lost.
 */
function flushed(log: Logger): Promise<void> {
  return new Promise((resolve) => log.flush(() => resolve()))
}

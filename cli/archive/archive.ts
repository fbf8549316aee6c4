import { collectDefaultMetrics, Registry } from 'prom-client'
import { loadCatalog } from '../../src/catalog/load.ts'
import type { ClusterName } from '../../src/cluster/access.ts'
import { cannotWrite } from '../../src/lib/write-error.ts'
import { clusterToWatch } from '../../webhook/cluster-to-watch.ts'
import { logDestination, openLog } from '../../webhook/log.ts'
import { buildStatusApp } from '../../webhook/status-app.ts'
import { UsageError, usageError } from '../shared/errors.ts'
import type { Session } from '../shared/session.ts'
import { type BucketArguments, openBucket } from './bucket-options.ts'
import { startArchive } from './service/archive.ts'
import { createRowsWriter } from './storage/rows-writer.ts'
import { openRunStorage, type RunStorage } from './storage/stored-runs.ts'
import { VOLUME_FILES } from './storage/volume-files.ts'
import { openVolumeFolders } from './storage/volume-folders.ts'

export interface ArchiveArguments extends BucketArguments, ClusterName {
  readonly namespace?: readonly string[]
  /** Milliseconds. */
  readonly keep: number
  readonly keepRuns: number
  readonly host: string
  readonly statusPort: number
  readonly logLevel: string
  /** The folder for logs, and for the rows of runs unless they are stored in a bucket. */
  readonly storage?: string
  /** The URL at which users find the storage. */
  readonly publicUrl?: string
}

/** The longest time that a shutdown takes, in milliseconds. */
const SHUTDOWN_MS = 20_000

/**
 * Runs `ridealong archive`: writes Runs until SIGTERM or SIGINT.
 *
 * @throws UsageError if no cluster is configured, or the port is taken
 */
export async function archive(
  options: ArchiveArguments,
  { stdout, environment, untilStopped }: Session,
): Promise<void> {
  const log = openLog(options.logLevel, logDestination(stdout, { sync: true }))
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const access = await clusterToWatch(options, environment).catch(usageError)
  const catalog = await loadCatalog({}).catch(usageError)
  const metrics = new Set(catalog.metrics.keys())
  const retention = { maxAgeMs: options.keep, maxRuns: options.keepRuns }
  const namespaces = options.namespace ?? []
  const storage = await openStorage(options)
  const running = startArchive({
    access,
    namespaces,
    metrics,
    retention,
    registry,
    log,
    storage,
    publicUrl: options.publicUrl,
  })
  const app = buildStatusApp(registry, running.checks)
  await app.listen({ port: options.statusPort, host: options.host }).catch(usageError)
  log.info({ statusPort: options.statusPort, namespaces }, 'watching pods')
  await untilStopped({
    limitMs: SHUTDOWN_MS,
    log,
    close: async (signal) => {
      log.info({ signal }, 'stopping')
      await Promise.all([running.stop(), app.close()])
      log.info('closed')
    },
  })
}

/** @throws UsageError if the folder cannot be written, or a bucket has no folder for logs */
async function openStorage(options: ArchiveArguments): Promise<RunStorage | undefined> {
  const bucket = await openBucket(options)
  const { storage: root } = options
  if (root === undefined && bucket !== undefined)
    throw new UsageError('--bucket needs --storage, a folder for the logs that are not stored yet')
  if (root === undefined) return undefined
  const opened = openRunStorage({
    root,
    files: VOLUME_FILES,
    writer: createRowsWriter(),
    folders: bucket ?? openVolumeFolders(root, VOLUME_FILES),
  })
  return opened.catch(cannotWrite(root)).catch(usageError)
}

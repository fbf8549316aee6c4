import { follow } from '../certs/follow.ts'
import type { Catalog } from '../src/core/catalog.ts'
import { readNamespaceFile } from '../src/namespaces/namespace-file.ts'
import { INTERVALS, type Intervals } from './cluster/backoff.ts'
import { watchCluster } from './cluster/cluster.ts'
import { clusterToWatch } from './cluster-to-watch.ts'
import { type FileFollowOptions, reloader } from './files.ts'
import type { Metrics } from './metrics.ts'
import type { FollowedNamespaces } from './namespaces.ts'

export interface NamespaceOptions extends FileFollowOptions {
  /** A file of Namespaces, instead of a cluster. It is followed. */
  readonly namespaces?: string | undefined
  /** A kubeconfig; without one the environment says which cluster. */
  readonly kubeconfig?: string | undefined
  /** Namespaces whose label is left as it is. */
  readonly excludedNamespaces: readonly string[]
  /** Where the DaemonSets are that keep observers' images on nodes; without it nobody watches. */
  readonly imageHolders?: string | undefined
  /** The Lease of the replica that looks for pods that were missed; without it nobody looks. */
  readonly scanLease?: string | undefined
  /** The longest until it looks at all pods again. */
  readonly scanMs?: number | undefined
  readonly pace?: Intervals | undefined
}

/**
 * Reads the file of Namespaces, or finds the cluster that has them.
 *
 * @returns starts to follow them, given the catalog that is served at any time; until then nothing runs
 * @throws an error that names the file which does not hold, or says that there is no cluster
 */
export async function findNamespaces(
  options: NamespaceOptions,
  metrics: Metrics,
): Promise<(catalog: () => Catalog) => FollowedNamespaces> {
  const { namespaces: path, kubeconfig, imageHolders, scanLease, log } = options
  if (path !== undefined) return followFile(path, options, metrics)
  const access = await clusterToWatch(kubeconfig)
  const excludedNamespaces = new Set(options.excludedNamespaces)
  const { registry } = metrics
  const sources = { access, excludedNamespaces, imageHolders, registry, log }
  return (catalog) => {
    const scan = scanLease === undefined ? undefined : { lease: scanLease, catalog }
    return watchCluster({ ...sources, scan, pace: resolveIntervals(options) })
  }
}

function resolveIntervals({ pace = INTERVALS, scanMs = pace.scanMs }: NamespaceOptions): Intervals {
  return { ...pace, scanMs }
}

async function followFile(path: string, options: FileFollowOptions, metrics: Metrics) {
  const read = () => readNamespaceFile(path)
  const first = await read()
  const reload = reloader(options, metrics)
  return (): FollowedNamespaces => {
    const file = follow(
      first,
      read,
      reload('namespaces', () => {}),
    )
    return {
      find: (name) => file.current.find(name),
      checks: () => [{ name: 'namespaces', problem: file.trouble, fatal: false }],
      stop: () => file.stop(),
    }
  }
}

import { follow } from '../certs/follow.ts'
import type { ClusterName } from '../src/cluster/access.ts'
import type { Catalog } from '../src/core/catalog.ts'
import { readNamespaceFile } from '../src/namespaces/namespace-file.ts'
import { watchCluster } from './cluster/cluster.ts'
import { INTERVALS, type Intervals } from './cluster/intervals.ts'
import { clusterToWatch } from './cluster-to-watch.ts'
import { type FileFollowOptions, reloader } from './files.ts'
import type { Metrics } from './metrics.ts'
import type { FollowedNamespaces } from './namespaces.ts'

/** Without the name of a cluster, the environment determines the cluster. */
export interface NamespaceOptions extends FileFollowOptions, ClusterName {
  /** A file of Namespaces, used instead of a cluster. The file is reloaded when it changes. */
  readonly namespaces?: string | undefined
  /** The environment variables, which may name a cluster. */
  readonly environment: NodeJS.ProcessEnv
  /**
   * Namespaces whose label `ridealong.dev/armed` is not repaired, and whose pods are not scanned.
   */
  readonly excludedNamespaces: readonly string[]
  /**
   * The revision of this release; undefined for the default release. Only namespaces of this
   * revision are repaired and scanned.
   */
  readonly revision?: string | undefined
  /**
   * The namespace of the DaemonSets that keep observers' images on nodes; if undefined, images are
   * not watched.
   */
  readonly imageHolders?: string | undefined
  /**
   * The Lease, as `NAMESPACE/NAME`, that selects the replica that scans for pods without their
   * observers or with altered observers; if undefined, this server does not scan.
   */
  readonly scanLease?: string | undefined
  /** The longest time between two scans of all pods, in milliseconds. */
  readonly scanMs?: number | undefined
  readonly pace?: Intervals | undefined
}

/**
 * Reads the file of Namespaces, or finds the cluster to watch.
 *
 * @returns a function that starts to follow the namespaces; its argument returns the current
 * catalog
 * @throws an error that names the invalid file, or says that no cluster is configured
 */
export async function findNamespaces(
  options: NamespaceOptions,
  metrics: Metrics,
): Promise<(catalog: () => Catalog) => FollowedNamespaces> {
  const { namespaces: path, revision, imageHolders, scanLease, log } = options
  if (path !== undefined) return followFile(path, options, metrics)
  const access = await clusterToWatch(options, options.environment)
  const excludedNamespaces = new Set(options.excludedNamespaces)
  const { registry } = metrics
  const sources = { access, excludedNamespaces, revision, imageHolders, registry, log }
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

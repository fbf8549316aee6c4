import type { Catalog } from '../../../src/core/catalog.ts'
import type { ManifestResource } from '../../../src/pods/manifest/resources.ts'
import { type OptionalCluster, openOptionalReader } from '../reader.ts'
import type { SettingOptions } from '../settings.ts'
import { readInstalledCatalog } from './installed-catalog.ts'

/** The catalogs of the installations that serve the namespaces of manifests. */
export interface CatalogByNamespace {
  /** Returns the catalog for the pods of a namespace that was read. */
  readonly catalogFor: (namespace: string) => Catalog
  /** The catalogs for the objects of the manifests; equal catalogs are not joined. */
  readonly catalogs: readonly Catalog[]
  /** Sentences that say where the catalogs come from. */
  readonly origins: readonly string[]
}

/** The request of manifests: the metrics, and the namespace of objects that set none. */
export interface ManifestRequest {
  readonly metrics: readonly string[]
  readonly namespace?: string | undefined
  readonly annotations?: Readonly<Record<string, string>> | undefined
}

/**
 * Reads the catalog for each namespace in which manifests create objects.
 *
 * @throws UsageError if the options name an invalid catalog or cluster
 */
export async function readCatalogs(
  options: Pick<SettingOptions, 'catalog' | 'observerImage'> & OptionalCluster,
  resources: readonly ManifestResource[],
  { namespace, ...request }: ManifestRequest,
  environment: NodeJS.ProcessEnv,
): Promise<CatalogByNamespace> {
  const isUsed = request.metrics.length > 0
  const cluster = isUsed ? await openOptionalReader(options, environment) : { value: undefined }
  const current = 'value' in cluster ? cluster.value?.namespace : undefined
  const defaultNamespace = namespace ?? current ?? 'default'
  const used = resources.map((resource) => resource.namespace || defaultNamespace)
  const namespaces = new Set(used.length === 0 ? [defaultNamespace] : used)
  const read = [...namespaces].map(async (name) => {
    return [
      name,
      await readInstalledCatalog(options, cluster, { ...request, namespace: name }),
    ] as const
  })
  const found = new Map(await Promise.all(read))
  const origins = [...found.values()].flatMap(({ origin }) => origin ?? [])
  const catalogs = [...found.values()].map(({ catalog }) => catalog)
  const catalogFor = (name: string) => {
    const catalog = found.get(name || defaultNamespace)?.catalog ?? catalogs[0]
    if (catalog === undefined) throw new Error(`the catalog for namespace ${name} was not read`)
    return catalog
  }
  return { catalogFor, catalogs, origins }
}

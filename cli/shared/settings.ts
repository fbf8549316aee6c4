import { loadCatalog } from '../../src/catalog/load.ts'
import type { Catalog, Privilege } from '../../src/core/catalog.ts'
import { EXCLUDED_NAMESPACES } from '../../src/core/kubernetes/namespace-name.ts'
import { type Namespace, readNamespace } from '../../src/core/namespaces/namespace.ts'
import type { Review } from '../../src/core/review.ts'
import { type PodReview, reviewPod } from '../../src/core/review-pod.ts'
import { readNamespaceFile } from '../../src/namespaces/namespace-file.ts'
import { UsageError, usageError } from './errors.ts'

/** The options that correspond to settings of the webhook. */
export interface SettingOptions {
  readonly catalog?: string | undefined
  /** False if the catalog has only the metrics of the folder `catalog`. */
  readonly builtInMetrics?: boolean | undefined
  readonly observerImage?: string | undefined
  readonly namespaces?: string | undefined
  readonly excludeNamespace?: readonly string[] | undefined
  /** The Pod Security level of namespaces without a Pod Security label. */
  readonly podSecurityDefault?: Privilege | undefined
}

/**
 * The catalog and the settings of namespaces. If the file of Namespaces does not contain a name,
 * `namespaceOf` returns a Namespace without labels and annotations.
 */
export interface KnownSettings {
  readonly catalog: Catalog
  readonly excludedNamespaces: ReadonlySet<string>
  readonly podSecurityDefault: Privilege | undefined
  readonly namespaceOf: (name: string) => Namespace
}

/**
 * Reports whether the options exclude the built-in metrics.
 *
 * @throws UsageError if no metric is left
 */
export function isWithoutBuiltInMetrics({
  builtInMetrics = true,
  catalog,
}: Pick<SettingOptions, 'builtInMetrics' | 'catalog'>): boolean {
  if (!builtInMetrics && catalog === undefined)
    throw new UsageError('--no-built-in-metrics needs --catalog, which has the metrics')
  return !builtInMetrics
}

/**
 * Reads the settings that the options of a verb name.
 *
 * @throws UsageError with the catalog document or the file of Namespaces that is invalid
 */
export async function readSettings(options: SettingOptions): Promise<KnownSettings> {
  const { catalog: folder, observerImage, namespaces: path } = options
  const isWhole = isWithoutBuiltInMetrics(options)
  const catalog = await loadCatalog({ folder, observerImage, isWhole }).catch(usageError)
  const namespaces =
    path === undefined ? undefined : await readNamespaceFile(path).catch(usageError)
  return {
    catalog,
    excludedNamespaces: new Set(options.excludeNamespace ?? EXCLUDED_NAMESPACES),
    podSecurityDefault: options.podSecurityDefault,
    namespaceOf: (name) => namespaces?.find(name) ?? readNamespace(name, undefined),
  }
}

/**
 * Builds a function that answers recorded reviews as the webhook would.
 *
 * @throws UsageError with the catalog document or the file of Namespaces that is invalid
 */
export async function buildReviewer(
  options: SettingOptions,
): Promise<(review: Review) => PodReview> {
  const { namespaceOf, ...settings } = await readSettings(options)
  return (review) => reviewPod(review, { ...settings, namespace: namespaceOf(review.namespace) })
}

import type { Catalog } from '../../src/core/catalog.ts'
import type { Fields } from '../../src/core/kubernetes/json.ts'
import { comparable } from '../../src/pods/explain/injection-outcome.ts'
import { readClusterCatalog } from './catalogs/cluster-catalog.ts'
import type { Reader } from './reader.ts'
import type { SettingOptions } from './settings.ts'

/** The catalogs with which the containers of pods are compared. */
export interface Comparison {
  /**
   * The catalog that describes the metrics: the catalog that the options name, otherwise the
   * catalog of the cluster, otherwise the built-in catalog.
   */
  readonly catalog: Catalog
  /** Returns the catalog to compare a pod's containers with; undefined to omit the comparison. */
  readonly catalogFor: (pod: Fields) => Catalog | undefined
  /** The problem that prevented reading the cluster's catalog, if that catalog was needed. */
  readonly problem: string | undefined
}

/**
 * Chooses the catalog that the options name, otherwise the catalog of the cluster. If the cluster's
 * catalog cannot be read, pods whose annotation `ridealong.dev/status` names the revision of
 * `known` are compared with `known`. Other pods are not compared.
 *
 * @param known the catalog that the options name, otherwise the built-in catalog
 */
export async function comparisonWith(
  known: Catalog,
  { catalog, observerImage }: SettingOptions,
  reader: Reader,
): Promise<Comparison> {
  const isNamed = catalog !== undefined || observerImage !== undefined
  if (isNamed) return { catalog: known, catalogFor: () => known, problem: undefined }
  const own = await readClusterCatalog(reader)
  if ('value' in own) return { catalog: own.value, catalogFor: () => own.value, problem: undefined }
  const catalogFor = (pod: Fields) => comparable(known, true, pod)
  return { catalog: known, catalogFor, problem: own.problem }
}

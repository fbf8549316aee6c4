import type { Catalog } from '../../src/core/catalog.ts'
import type { Fields } from '../../src/core/kubernetes/json.ts'
import { comparable } from '../../src/pods/explain/injection-outcome.ts'
import type { Comparison } from '../../src/runs/collect/workload-pods.ts'
import { readClusterCatalog } from './catalogs/cluster-catalog.ts'
import type { Reader } from './reader.ts'
import type { SettingOptions } from './settings.ts'

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
  const installed = await readClusterCatalog(reader)
  if ('value' in installed)
    return { catalog: installed.value, catalogFor: () => installed.value, problem: undefined }
  const catalogFor = (pod: Fields) => comparable(known, true, pod)
  return { catalog: known, catalogFor, problem: installed.problem }
}

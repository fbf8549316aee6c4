import type { Catalog } from '../../core/catalog.ts'
import type { Fields } from '../../core/kubernetes/json.ts'
import { comparable } from '../../explain/injection-outcome.ts'
import { readClusterCatalog } from './cluster-catalog.ts'
import type { Reader } from './reader.ts'
import type { SettingOptions } from './settings.ts'

/** The result of choosing a catalog to compare the containers of pods with. */
export interface Comparison {
  readonly catalogFor: (pod: Fields) => Catalog | undefined
  /** Why the cluster's catalog is not known, if it was needed and could not be read. */
  readonly problem: string | undefined
}

/**
 * Chooses the catalog that the options name, otherwise the cluster's. If the cluster's cannot be
 * read, pods whose status names the revision of `known` are compared with `known`.
 */
export async function comparisonWith(
  known: Catalog,
  { catalog, observerImage }: SettingOptions,
  reader: Reader,
): Promise<Comparison> {
  const isNamed = catalog !== undefined || observerImage !== undefined
  if (isNamed) return { catalogFor: () => known, problem: undefined }
  const own = await readClusterCatalog(reader)
  if ('value' in own) return { catalogFor: () => own.value, problem: undefined }
  return { catalogFor: (pod) => comparable(known, true, pod), problem: own.problem }
}

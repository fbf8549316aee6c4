import { CatalogError, loadCatalog } from '../../../src/catalog/load.ts'
import { type Fields, fieldsOrNone } from '../../../src/core/kubernetes/json.ts'
import type { Offer } from '../../../src/pods/doctor/installation.ts'

/**
 * Reads the catalog in a ConfigMap. The result is the same as in the servers, which mount the
 * ConfigMap as a folder.
 *
 * @returns the catalog, or the problem of the first invalid document
 */
export async function readOffer(name: string, configMap: Fields): Promise<Offer> {
  const texts = Object.entries(fieldsOrNone(configMap.data))
  const files = new Map(texts.map(([file, text]) => [`ConfigMap ${name}/${file}`, String(text)]))
  try {
    return { kind: 'whole', catalog: await loadCatalog({ files }) }
  } catch (error) {
    if (!(error instanceof CatalogError)) throw error
    return { kind: 'broken', problem: error.message }
  }
}

import { loadCatalog } from '../../../src/catalog/load.ts'
import { CatalogError } from '../../../src/catalog/parse.ts'
import { asText, type Fields, fieldsOrNone, listOrNone } from '../../../src/core/kubernetes/json.ts'
import type { Offer, Release } from '../../../src/pods/doctor/installation.ts'
import type { FactLookup } from '../../../src/pods/explain/facts.ts'
import type { Reader } from '../reader.ts'

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

/** Reads the catalog that the servers of a Deployment mount. */
export async function resolveOffer(
  reader: Reader,
  root: string,
  deployment: FactLookup<Fields | undefined>,
): Promise<Release['offer']> {
  if ('problem' in deployment) return deployment
  const template = fieldsOrNone(fieldsOrNone(deployment.value?.spec).template)
  const volumes = listOrNone(fieldsOrNone(template.spec).volumes).map(fieldsOrNone)
  const volume = volumes.find(({ name }) => name === 'catalog')
  const name = asText(fieldsOrNone(volume?.configMap).name)
  if (name === undefined) return { value: { kind: 'none' } }
  const found = await reader.look(`${root}/configmaps/${name}`)
  if ('problem' in found) return found
  if (found.value !== undefined) return { value: await readOffer(name, found.value) }
  const problem = `ConfigMap ${name}, which the Deployment mounts, does not exist`
  return { value: { kind: 'broken', problem } }
}

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CatalogError, loadCatalog } from '../catalog/load.ts'
import { type Fields, fieldsOrNone } from '../core/json.ts'
import type { Offer } from '../doctor/installation.ts'

/**
 * Reads the catalog of a ConfigMap as the servers do, which mount it as a folder.
 *
 * @returns what it offers, or which document of it does not hold
 */
export async function readOffer(name: string, configMap: Fields): Promise<Offer> {
  const folder = await mkdtemp(join(tmpdir(), 'ridealong-catalog-'))
  try {
    for (const [file, text] of Object.entries(fieldsOrNone(configMap.data))) {
      await writeFile(join(folder, file), String(text))
    }
    return { kind: 'whole', catalog: await loadCatalog({ folder }) }
  } catch (error) {
    if (!(error instanceof CatalogError)) throw error
    return { kind: 'broken', problem: error.message.replace(folder, `ConfigMap ${name}`) }
  } finally {
    await rm(folder, { recursive: true })
  }
}

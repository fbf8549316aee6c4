import { fileURLToPath } from 'node:url'
import type { CatalogDocuments } from './parse.ts'
import { readCatalogFolder } from './parse.ts'

/** The folder of the built-in metrics. */
export const BUILT_IN = fileURLToPath(new URL('.', import.meta.url))

let documents: Promise<CatalogDocuments> | undefined

/** Reads the built-in metrics, once: they are part of the program. */
export function readBuiltIn(): Promise<CatalogDocuments> {
  documents ??= readCatalogFolder(BUILT_IN)
  return documents
}

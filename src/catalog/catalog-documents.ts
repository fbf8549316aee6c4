import type { MetricDocument } from '../core/catalog.ts'
import type { DefaultsDocument } from './defaults.ts'

/** The documents of a folder, or of files that were already read. */
export interface CatalogDocuments {
  readonly metrics: readonly MetricDocument[]
  readonly defaults: { readonly path: string; readonly document: DefaultsDocument } | undefined
}

/**
 * An invalid catalog. The message names the file and the reason and, if they could be read, the
 * metric and the invalid field.
 */
export class CatalogError extends Error {
  override readonly name = 'CatalogError'
}

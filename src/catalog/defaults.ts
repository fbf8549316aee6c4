import type { MetricDocument } from '../core/catalog.ts'
import { quote } from '../core/text/quote.ts'

/** A document with the default metrics of a catalog: `kind: Defaults`. */
export interface DefaultsDocument {
  readonly kind: 'Defaults'
  readonly spec: { readonly metrics: readonly string[] }
}

/**
 * Reports the first default metric that the catalog does not have, or that not every namespace may
 * request. A word that everybody may write must not depend on the labels of a namespace.
 *
 * @param documents the documents of the catalog; of documents with the same name, the last is used
 * @returns the field, its value and the valid values, as a sentence without the final period
 */
export function defaultsProblem(
  { spec: { metrics } }: DefaultsDocument,
  documents: readonly MetricDocument[],
): string | undefined {
  const byName = new Map(documents.map((document) => [document.metadata.name, document]))
  for (const name of metrics) {
    const problem = problemOf(byName.get(name))
    if (problem === undefined) continue
    const valid = [...byName.values()].filter((document) => problemOf(document) === undefined)
    const names = valid.map(({ metadata }) => metadata.name).sort()
    const known = names.length > 0 ? names.join(', ') : 'none'
    const field = 'spec.metrics (catalog.defaults of the chart)'
    return `${field}: ${quote(name)} ${problem}; valid names are ${known}`
  }
  return undefined
}

function problemOf(document: MetricDocument | undefined): string | undefined {
  if (document === undefined) return 'is not a metric of the catalog'
  const { privilege, tool } = document.spec
  if (tool !== undefined) return 'loads a tool, which namespaces must allow'
  if (privilege !== 'restricted')
    return `needs the privilege ${privilege}, which namespaces must grant`
  return undefined
}

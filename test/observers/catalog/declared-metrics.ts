import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { Document, visit } from 'yaml'
import type { RowsDescription } from '../../../src/core/catalog.ts'

const WORKSPACE = fileURLToPath(new URL('../../../observer', import.meta.url))

/** A metric as the program of the observers declares it. */
export interface DeclaredMetric {
  readonly name: string
  readonly options: readonly string[]
  readonly rows: RowsDescription
}

/** Returns the metrics that the program declares, which cargo compiles if necessary. */
export function readDeclaredMetrics(): readonly DeclaredMetric[] {
  const words = ['run', '--locked', '--quiet', '--example', 'metrics']
  const options = { cwd: WORKSPACE, encoding: 'utf8', maxBuffer: 1 << 26 } as const
  return JSON.parse(execFileSync('cargo', words, options))
}

/** The keys of a description, in the order in which the catalog has them. */
const KEYS = [
  ...['format', 'sections', 'summary', 'name', 'of', 'type', 'key', 'unit', 'behavior', 'scale'],
  ...['attributes', 'summed', 'exported', 'mean', 'otlp', 'quantity', 'sampled', 'title'],
  ...['description', 'meaning', 'columns'],
]

/** Returns a document of the catalog with these rows in place of its own. */
export function withRows(text: string, rows: RowsDescription): string {
  const document = new Document(
    { spec: { rows } },
    { sortMapEntries: (one, other) => KEYS.indexOf(`${one.key}`) - KEYS.indexOf(`${other.key}`) },
  )
  visit(document, {
    Map: (_, map) => {
      map.flow = map.has('type')
    },
  })
  const [, , ...lines] = document
    .toString({ flowCollectionPadding: false, lineWidth: 0, singleQuote: true })
    .split('\n')
  const made = ['  rows: # npm run catalog:rows writes these lines', ...lines].join('\n')
  return text.replace(/^ {2}rows:.*\n(?: {4}.*\n)*/m, () => made)
}

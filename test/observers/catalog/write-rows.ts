import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BUILT_IN } from '../../../src/catalog/built-in.ts'
import { readDeclaredMetrics, withRows } from './declared-metrics.ts'

// `npm run catalog:rows` writes the rows of the built-in metrics, as the program of the observers
// declares them, into the catalog, its copy in the chart and the table of docs/metrics/columns.md.

for (const { name, rows } of readDeclaredMetrics()) {
  const path = join(BUILT_IN, `${name}.yaml`)
  writeFileSync(path, withRows(readFileSync(path, 'utf8'), rows))
}

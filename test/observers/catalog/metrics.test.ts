import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { BUILT_IN } from '../../../src/catalog/built-in.ts'
import { loadCatalog } from '../../../src/catalog/load.ts'
import { NAMES } from '../program.ts'
import { readDeclaredMetrics, withRows } from './declared-metrics.ts'

// Tests that the catalog describes the metrics as the program declares them.

t.test('the catalog describes the metrics that the program declares', async (t) => {
  const declared = readDeclaredMetrics()
  const { metrics } = await loadCatalog({})
  const names = declared.map(({ name }) => name)
  t.strictSame(names.toSorted(), [...metrics.keys()].toSorted())
  t.strictSame(names, NAMES.slice(0, names.length), 'the tests run each metric')
  for (const { name, options, rows } of declared) {
    const text = readFileSync(join(BUILT_IN, `${name}.yaml`), 'utf8')
    t.equal(text, withRows(text, rows), `npm run catalog:rows writes the rows of ${name}`)
    const keys = options.map((option) => `${name}.ridealong.dev/${option}`)
    t.strictSame([...(metrics.get(name)?.options.keys() ?? [])].toSorted(), keys.toSorted())
  }
})

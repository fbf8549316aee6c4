import { join } from 'node:path'
import t from 'tap'
import { readOffer } from '../../../../cli/shared/catalogs/release-catalog.ts'
import { BUILT_IN } from '../../../../src/catalog/built-in.ts'
import { loadCatalog } from '../../../../src/catalog/load.ts'
import { readText } from '../../../../src/lib/read-text.ts'

const PERF = await readText(join(BUILT_IN, 'perf-sysstat.yaml'))
const OURS = PERF.replace('name: perf-sysstat', 'name: ours')

t.test(
  'a ConfigMap gives the same catalog as a folder with its files, and no file is written',
  async (t) => {
    const data = { 'ours.yaml': OURS, 'README.md': 'no document', '..data.yaml': 'no: document' }
    const loaded = await loadCatalog({ folder: t.testdir(data), isWhole: true })
    const { TMPDIR } = process.env
    t.teardown(() => {
      if (TMPDIR === undefined) delete process.env.TMPDIR
      else process.env.TMPDIR = TMPDIR
    })
    // In a pod with a read-only root file system, no temporary file can be written.
    process.env.TMPDIR = '/nonexistent'
    const offer = await readOffer('ridealong-catalog', { data })
    t.match(offer, { kind: 'whole', catalog: { revision: loaded.revision } })
    t.strictSame([...loaded.metrics.keys()], ['ours'], 'built-in metrics are in the ConfigMap')
  },
)

t.test('an invalid document is reported with the names of its ConfigMap and file', async (t) => {
  const broken = OURS.replace('privilege: restricted', 'privilege: root')
  t.match(await readOffer('ridealong-catalog', { data: { 'a.yaml': broken } }), {
    kind: 'broken',
    problem: /^ConfigMap ridealong-catalog\/a\.yaml: metric ours: spec\.privilege must be one of/,
  })
  t.match(await readOffer('c', { data: { 'b.yaml': 'a: [' } }), {
    kind: 'broken',
    problem: /ConfigMap c\/b\.yaml/,
  })
})

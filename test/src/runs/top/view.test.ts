import t from 'tap'
import { loadCatalog } from '../../../../src/catalog/load.ts'
import { descriptionsIn } from '../../../../src/runs/log/descriptions.ts'
import { chooseColumns } from '../../../../src/runs/top/columns.ts'
import { firstView, keepSort } from '../../../../src/runs/top/view.ts'

const KNOWN = descriptionsIn(await loadCatalog({}))
const columnsOf = (...metrics: readonly string[]) => chooseColumns(KNOWN, new Set(metrics), [])

t.test('the lines stay sorted by the same column when another metric appears', async (t) => {
  const before = columnsOf('perf-sysstat')
  const after = columnsOf('perf-sysstat', 'pressure')
  const { sort } = firstView(before, 'pod', undefined)
  t.equal(sort, 'percent_wait')
  t.equal(keepSort(sort, before, after), 'run_delay', 'the column WAIT has another key')
  t.equal(keepSort('rss', before, after), 'rss')
  t.equal(keepSort(undefined, before, after), undefined, 'the order of the pods')
  t.equal(keepSort('rss', before, columnsOf('network')), 'bytes_sent')
})

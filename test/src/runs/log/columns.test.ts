import t from 'tap'
import type { RowsDescription } from '../../../../src/core/catalog.ts'
import { listColumns } from '../../../../src/runs/log/columns.ts'
import { BUILT_IN_ROWS } from './built-in.ts'

/** The first columns of the CSV, which never change. */
const FIRST = `
  kind source metric namespace pod node pod_index timepoint time
  seconds interval container program pid attempt tid uid percent_usr percent_system
  percent_guest percent_wait percent_cpu cpu usr_ms system_ms guest_ms kb_rd_s kb_wr_s
  kb_ccwr_s iodelay prio policy minflt_s majflt_s vsz rss percent_mem
  minflt_nr majflt_nr stksize stkref threads fd_nr cswch_s nvcswch_s device
  r_s w_s d_s f_s rmb_s wmb_s dmb_s rrqm_s wrqm_s
  drqm_s rrqm wrqm drqm r_await w_await d_await f_await rareq_sz
  wareq_sz dareq_sz aqu_sz util
`

t.test('the columns of the built-in metrics keep their names and their order', async (t) => {
  const first = FIRST.trim().split(/\s+/)
  t.strictSame([...listColumns(BUILT_IN_ROWS).keys()].slice(0, first.length + 1), [
    ...first,
    'section',
  ])
  const { sections } = BUILT_IN_ROWS.get('perf-sysstat') ?? { sections: [] }
  t.equal(sections[0]?.columns.length, 34)
})

t.test('columns of other metrics follow, and metrics share columns of equal names', async (t) => {
  const column = (name: string) => ({ name, type: 'number', meaning: name }) as const
  const rows = (...names: string[]): RowsDescription => ({
    format: 'jsonl',
    sections: [{ name: 's', of: 'pod', description: 'd', columns: names.map(column) }],
  })
  const builtIn = [...BUILT_IN_ROWS].filter(([metric]) => metric.endsWith('-sysstat'))
  const all = new Map([['aaa', rows('pid', 'one')], ...builtIn, ['zzz', rows('one', 'two')]])
  t.strictSame([...listColumns(all).keys()].slice(-3), ['section', 'one', 'two'])
  t.equal(listColumns(all).get('pid')?.meaning, 'process id, in the process namespace of the pod')
})

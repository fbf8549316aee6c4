import t from 'tap'
import { until } from '../../../../../until.ts'
import { type TracedProcess, traceLine } from '../../../metrics/torch-trace/trace-rows.ts'
import { browserOf } from '../../browser.ts'
import { generatedLines } from '../../generated.ts'
import { makePage } from '../make-page.ts'

const HTML = '</script><img src=http://127.0.0.1:9/x onerror=document.title="broken">'
const PROCESSES: readonly TracedProcess[] = [
  { index: 1, worldRank: 3, pid: 71, trace: 'incomplete', program: HTML },
  { index: 1, worldRank: 2, pid: 70, trace: 'complete' },
  { index: 0, worldRank: null, pid: 9, trace: 'missing' },
]

t.test('the page names the traces of all pods, and sends nothing', async (t) => {
  const open = await browserOf(t)
  const { page, said, requests } = await open(
    await makePage(t, { lines: PROCESSES.map(traceLine) }),
  )
  const rows = () => page.locator('#traces tbody tr').allInnerTexts()
  t.strictSame(await rows(), [
    '0\t\ttrain.py\t9\tmissing\t\t',
    '1\t2\ttrain.py\t70\tcomplete\t471 KiB\tjob-1/torch-trace/trace_70.json',
    `1\t3\t${HTML}\t71\tincomplete\t\t`,
  ])
  const link = page.locator('#traces a')
  t.equal(await link.getAttribute('href'), 'https://ui.perfetto.dev')
  t.match(await page.textContent('#traces .note'), 'ridealong collect WORKLOAD --output artifacts')
  await page.fill('#pods', '0')
  await until('the table has one row', async () => (await rows()).length === 1)
  t.strictSame([said, requests], [[], []])
})

t.test('a page without traces has no such topic', async (t) => {
  const lines = generatedLines({ pods: 2, timepoints: 3 })
  const { page } = await (await browserOf(t))(await makePage(t, { lines }))
  t.equal(await page.locator('#traces').count(), 0)
})

import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { until } from '../../../../../until.ts'
import { mpiLines, recordedLogs, type TracedProcess } from '../../../metrics/mpi-trace/mpi-rows.ts'
import { browserOf, rowsAre } from '../../browser.ts'
import { generatedLines } from '../../generated.ts'
import { makePage } from '../make-page.ts'

const pageOf = (t: Test, processes: readonly TracedProcess[]) =>
  makePage(t, { lines: processes.flatMap(mpiLines) })

const HTML = '</script><img src=http://127.0.0.1:9/x onerror=document.title="broken">'

t.test('a page without calls of MPI has no such section', async (t) => {
  const open = await browserOf(t)
  const { page, said } = await open(
    await makePage(t, { lines: generatedLines({ pods: 3, timepoints: 3 }) }),
  )
  t.equal(await page.locator('#mpi').count(), 0)
  t.strictSame(said, [])
})

t.test('the tables of LAMMPS have its calls and ranks', async (t) => {
  const folder = new URL('../../../../../logs/mpi/', import.meta.url)
  const files = recordedLogs('imbalanced').map((name) => fileURLToPath(new URL(name, folder)))
  const { page, said, requests } = await (await browserOf(t))(await makePage(t, { files }))
  t.match(await page.textContent('#findings article'), 'mostly in MPI_Wait')
  const first = await page.locator('#mpi .by-call tbody tr').first().innerText()
  t.match(first, /^MPI_Wait\t4,872\t2\.92\t19\t0\.0588\t1\.46\t2\.86\t/)
  const ranks = await page.locator('#mpi-ranks tbody tr').allInnerTexts()
  t.match(ranks, [
    /^mpi-trace-imbalanced-0\.log\tMPI rank 0, lmp\t7\.69\t4\.07\t53\t[\d,]+\t156\t/,
    /^mpi-trace-imbalanced-1\.log\tMPI rank 1, lmp\t7\.69\t0\.311\t4\.04\t/,
  ])
  const heads = await page.locator('#mpi-ranks thead button').allInnerTexts()
  t.strictSame(heads.slice(0, 8), [
    ...['Pod', 'Process', 'Since MPI_Init', 'In MPI', 'Share', 'Calls', 'Sent', 'MPI_Wait'],
  ])
  t.strictSame([said, requests], [[], []])
})

t.test('a job can be chosen, and rows can be sorted and filtered', async (t) => {
  const send = (rank: number, seconds: number) => ({
    ...{ rank, size: 3 },
    calls: [['MPI_Send', 'world', '1', seconds]] as const,
  })
  const other = { rank: 0, size: 2, job: HTML, calls: [[HTML, 'world', 'none', 1]] as const }
  const processes = [send(0, 9), send(1, 20), send(2, 4), other]
  const { page, said, requests } = await (await browserOf(t))(await pageOf(t, processes))
  const ranks = async () => {
    const texts = await page.locator('#mpi-ranks tbody tr').allInnerTexts()
    return texts.map((text) => text.split('\t')[0])
  }
  await page.click('#mpi-ranks button:text("In MPI")')
  t.strictSame(await ranks(), ['1', '0', '2'])
  await page.fill('#pods', '1-2')
  await until('the table has two rows', async () => (await ranks()).join() === '1,2')
  await page.fill('#pods', '')
  await page.selectOption('#mpi-job', '1')
  t.strictSame(await ranks(), ['0'])
  t.match(await page.textContent('#mpi .told'), /cannot be compared: mpi-trace has rows of only 1/)
  t.match(await page.locator('#mpi .by-call tbody').innerText(), HTML)
  t.notOk(await page.locator('img').count(), 'names are never HTML')
  t.strictSame([said, requests], [[], []])
})

t.test('a page without calls of MPI has no such section', async (t) => {
  const path = await makePage(t, { lines: generatedLines({ pods: 3, timepoints: 3 }) })
  const { page, said } = await (await browserOf(t))(path)
  await rowsAre(page, 3)
  t.equal(await page.locator('#mpi').count(), 0)
  t.strictSame(said, [])
})

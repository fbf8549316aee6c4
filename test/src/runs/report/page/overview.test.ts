import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { browserOf, NO_BROWSER } from '../browser.ts'
import { makePage } from './make-page.ts'

const BROWSER = { skip: NO_BROWSER }
const LOGS = fileURLToPath(new URL('../../../../logs/', import.meta.url))

/** Returns the path of a page from recorded logs. */
const pageOf = (t: Test, names: readonly string[]) =>
  makePage(t, { files: names.map((name) => join(LOGS, name)) })

const CROWDED = ['0', '1'].flatMap((pod) =>
  ['mpi-trace', 'vitals'].map((metric) => `all-metrics/lammps-${pod}.${metric}.log`),
)

t.test('the first screen has the sentence, the factors and the findings', BROWSER, async (t) => {
  const open = await browserOf(t)
  const { page, said } = await open(await pageOf(t, CROWDED))
  t.match(await page.textContent('#verdict'), /^Took 3\d s on 2 MPI ranks\. Efficiency 0\.10: /)
  const table = page.getByRole('table', { name: /^Efficiency: / })
  const names = await table.getByRole('rowheader').allInnerTexts()
  t.strictSame(names, [
    'Efficiency',
    'Load balance',
    'Between pods',
    'Within pods',
    'Communication and platform',
    'Communication',
    'Platform',
  ])
  const platform = table.getByRole('row', { name: /^Platform 0\.1\d, at least 0\.1\d / })
  t.equal(await platform.count(), 1)
  t.equal(await platform.getByRole('meter').count(), 0, 'the bar is only for the eye')
  t.equal(await platform.locator('meter').count(), 1)
  const filter = await page.locator('#filter').boundingBox()
  const last = await page.locator('#worst details').last().boundingBox()
  t.ok((last?.y ?? 900) < 900, 'the findings are on the first screen')
  t.ok((filter?.y ?? 0) > (last?.y ?? 0))
  t.strictSame(said, [])
})

t.test('a finding is one line, which opens and leads to its evidence', BROWSER, async (t) => {
  const open = await browserOf(t)
  const { page } = await open(await pageOf(t, CROWDED))
  const line = page.locator('#worst details').first()
  const advice = line.getByText('What to do: ')
  t.match(await line.innerText(), /^Waiting for a CPU\s*2 ranks, most on rank .*\s*[\d.]+ s lost$/)
  t.equal(await advice.isVisible(), false)
  await line.locator('summary').press('Enter')
  t.equal(await advice.isVisible(), true)
  await line.getByRole('link', { name: 'Evidence and plot' }).click()
  const [title, filter] = await Promise.all(
    ['#finding-0 h3', '#filter'].map((selector) => page.locator(selector).first().boundingBox()),
  )
  const below = (filter?.y ?? 0) + (filter?.height ?? 0)
  t.ok((title?.y ?? 0) >= below, 'the filter does not cover the title of the finding')
  t.ok((title?.y ?? 900) < 400)
})

t.test('a factor that is not known has its reason in place of a bar', BROWSER, async (t) => {
  const open = await browserOf(t)
  const { page } = await open(
    await pageOf(
      t,
      CROWDED.filter((name) => !name.includes('vitals') || name.includes('lammps-1')),
    ),
  )
  const platform = page.locator('#efficiency tr', { hasText: 'Platform' }).last()
  t.match(await platform.innerText(), /^Platform\s+not known: .* only 1 of the 2 processes/)
  t.equal(await platform.locator('meter').count(), 0)
})

t.test('a run without findings has no lines of findings', BROWSER, async (t) => {
  const open = await browserOf(t)
  const names = ['perf-sysstat', 'pressure'].map((metric) => `findings/${metric}-healthy.log`)
  const { page } = await open(await pageOf(t, names))
  t.equal(await page.locator('#worst').isVisible(), false)
  t.match(
    await page.textContent('#verdict'),
    /Efficiency 0\.61: the ranks were idle \(activity 0\.61\); /,
  )
})

import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { until } from '../../../../../until.ts'
import { browserOf, coloursOf } from '../../browser.ts'
import { busyLines } from '../../generated.ts'
import { makePage } from '../make-page.ts'

const LOGS = fileURLToPath(new URL('../../../../../logs/', import.meta.url))

/** Returns the path of a page from recorded logs. */
const pageOf = (t: Test, names: readonly string[]) =>
  makePage(t, { files: names.map((name) => join(LOGS, name)) })

const CROWDED = ['0', '1'].flatMap((pod) =>
  ['mpi-trace', 'vitals'].map((metric) => `all-metrics/lammps-${pod}.${metric}.log`),
)

t.test('the first screen has the sentence, the factors and the findings', async (t) => {
  const open = await browserOf(t)
  const { page, said } = await open(await pageOf(t, CROWDED), 'closed')
  t.match(
    await page.textContent('#verdict'),
    /^Took 3[\d.]+ s on 2 MPI ranks in 2 pods\. Efficiency 0\.10: /,
  )
  t.match(
    await page.textContent('#advice'),
    /^What to do: Request as many processors as the pod could have used /,
  )
  const table = page.getByRole('table', { name: /^A factor is / })
  const names = await table.getByRole('rowheader').allInnerTexts()
  t.strictSame(names, [
    'Efficiency',
    'Load balance',
    'Between pods',
    'Within pods',
    'Communication and platform',
    'Communication',
    'Platform',
    'Storage',
    'Activity',
  ])
  const platform = table.getByRole('row', {
    name: /^Platform 0\.1\d, at least 0\.1\d waiting for a processor$/,
  })
  t.equal(await platform.count(), 1)
  t.equal(await platform.getByRole('meter').count(), 0, 'the bar is only for the eye')
  t.equal(await platform.locator('meter').count(), 1)
  const filter = await page.locator('#filter').boundingBox()
  const strip = await page.locator('#activity-rows').boundingBox()
  t.ok((strip?.y ?? 900) + (strip?.height ?? 0) < 900, 'the pods are on the first screen')
  t.ok((filter?.y ?? 0) > (strip?.y ?? 0))
  t.strictSame(said, [])
})

t.test('the pods over time show what each did, as colours, words and a table', async (t) => {
  const open = await browserOf(t)
  const { page } = await open(await pageOf(t, CROWDED), 'closed')
  const states = await page.locator('#activity .states li').allInnerTexts()
  t.match(states, [/^computing 1\d %$/, /^in MPI \d+ %$/, /^waiting for a processor 8\d %$/])
  const strip = page.getByRole('img', {
    name: /^Activity over time\. On average: computing 1\d %, /,
  })
  t.equal(await strip.count(), 1)
  const [colours = 0] = await coloursOf(page, '#activity-rows')
  t.ok(colours > 5, `${colours} colours`)
  await strip.hover({ position: { x: 700, y: 10 } })
  t.match(
    await page.textContent('#activity output'),
    /^MPI rank 0 from \d+ s to \d+ s: .*waiting for a processor [789]\d %$/,
  )
  await page.locator('#activity summary').press('Enter')
  const rows = await page.locator('#activity tbody tr').allInnerTexts()
  t.match(rows, [/^MPI rank 0\t\d+ %\t\d+ %\t[678]\d %$/, /^MPI rank 1\t/])
})

t.test('of 1,000 pods, the strip has groups, and the slow pod alone', async (t) => {
  const open = await browserOf(t)
  const lines = busyLines({ pods: 1000, timepoints: 6, straggler: 137 })
  const { page } = await open(await makePage(t, { lines }), 'closed')
  const strip = await page.locator('#activity-rows').boundingBox()
  t.ok((strip?.height ?? 900) < 320, `${strip?.height} pixels`)
  const names = await page.locator('#activity tbody th').allTextContents()
  t.ok(names.length <= 64)
  t.strictSame(names.slice(0, 2), ['pod 137', 'pods 0 to 17'])
})

t.test('a finding is one line, which opens and leads to its evidence', async (t) => {
  const open = await browserOf(t)
  const { page } = await open(await pageOf(t, CROWDED), 'closed')
  const line = page.locator('#worst details').first()
  const advice = line.getByText('What to do: ')
  t.match(await line.innerText(), /^Waiting for a CPU\s*[\d.]+ s lost\s*2 pods, most on pod /)
  t.equal(await advice.isVisible(), false)
  await line.locator('summary').press('Enter')
  t.equal(await advice.isVisible(), true)
  t.equal(await page.locator('#findings article').count(), 0, 'the topic is not built yet')
  await line.getByRole('link', { name: 'Evidence and plot' }).press('Enter')
  const title = page.locator('#finding-0 h3').first()
  await until('the finding is shown', () => title.isVisible())
  const [top, filter] = await Promise.all(
    [title, page.locator('#filter')].map((one) => one.boundingBox()),
  )
  const below = (filter?.y ?? 0) + (filter?.height ?? 0)
  t.ok((top?.y ?? 0) >= below, 'the filter does not cover the title of the finding')
  t.ok((top?.y ?? 900) < 400)
})

t.test('a factor that is not known has no bar, and its reason is below', async (t) => {
  const open = await browserOf(t)
  const { page } = await open(
    await pageOf(
      t,
      CROWDED.filter((name) => !name.includes('vitals') || name.includes('lammps-1')),
    ),
    'closed',
  )
  const platform = page.locator('#efficiency tr', { hasText: 'Platform' }).last()
  t.match(await platform.innerText(), /^Platform\s+not known\s*$/)
  t.equal(await platform.locator('meter').count(), 0)
  const reasons = (await page.textContent('#efficiency .missing')) ?? ''
  t.match(reasons, /^Not known: [^.]* only 1 of the 2 processes /)
  t.equal(reasons.split('only 1 of the 2').length, 2, 'the reason is there once')
})

t.test('a run without findings says so', async (t) => {
  const open = await browserOf(t)
  const names = ['perf-sysstat', 'pressure'].map((metric) => `findings/${metric}-healthy.log`)
  const { page } = await open(await pageOf(t, names), 'closed')
  t.equal(await page.locator('#worst details').count(), 0)
  t.match(
    await page.innerText('#worst'),
    'The rules that could be checked found nothing that held the run up.',
  )
  t.match(
    await page.textContent('#verdict'),
    /Efficiency at most 0\.61: the processes were idle \(activity 0\.61\); /,
  )
})

t.test('a run that may hang says so before it says that processes ran', async (t) => {
  const open = await browserOf(t)
  const { page } = await open(await pageOf(t, ['verdict/hanging/hang-0.vitals.log']), 'closed')
  t.match(
    await page.textContent('#verdict'),
    /Whether the job made progress is not known: .* \(needs ridealong\.dev\/inject: "vitals,mpi-trace"\), .* counts as running, .* held this run up /,
  )
  t.match(await page.textContent('#advice'), ' ridealong stacks KIND/NAME -n hpc shows ')
  t.match(
    await page.textContent('#efficiency .missing'),
    /^Not known: storage, as .*; waiting in MPI, which was not looked at and counts as running\.$/,
  )
  const [first = ''] = await page.locator('#activity .states li').allInnerTexts()
  t.match(first, /^running 9\d %$/)
  const strip = await page.locator('#activity-rows').boundingBox()
  t.ok((strip?.y ?? 900) + (strip?.height ?? 0) < 900, 'the pods are on the first screen')
})

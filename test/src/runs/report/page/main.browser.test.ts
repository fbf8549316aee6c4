import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { REPOSITORY } from '../../../../docs/pages.ts'
import { problemsOf } from '../axe.ts'
import { browserOf, openTopics } from '../browser.ts'
import { makePage } from './make-page.ts'

// Tests of the page with axe, and with the keyboard alone.

const logsIn = (folder: string, of: RegExp) =>
  readdirSync(join(REPOSITORY, folder))
    .filter((name) => of.test(name))
    .map((name) => join(REPOSITORY, folder, name))

const RUNS = {
  'all metrics': logsIn('test/logs/all-metrics', /\.log$/),
  vitals: logsIn('docs/examples', /^vitals\.log$/),
  'calls of MPI': logsIn('test/logs/mpi', /-imbalanced-\d\.log$/),
}

for (const [name, files] of Object.entries(RUNS))
  for (const colorScheme of ['light', 'dark'])
    t.test(`axe finds nothing on the page of ${name}, ${colorScheme}`, async (t) => {
      const open = await browserOf(t, { colorScheme })
      const { page } = await open(await makePage(t, { files }), 'closed')
      t.strictSame(await problemsOf(page), [])
      await openTopics(page)
      await page.evaluate(`for (const one of document.querySelectorAll('details')) one.open = true`)
      t.strictSame(await problemsOf(page), [], 'with all topics open')
    })

t.test('the keyboard opens topics, and sorts and scrolls tables', async (t) => {
  const open = await browserOf(t)
  const { page } = await open(await makePage(t, { files: RUNS.vitals }), 'closed')
  const focused = () => page.evaluate('document.activeElement.id || document.activeElement.tagName')
  await page.keyboard.press('Tab')
  t.equal(await focused(), 'theme')
  await page.keyboard.press('Enter')
  t.equal(await page.evaluate('document.documentElement.dataset.theme'), 'dark')
  const topic = page.locator('#summary > summary')
  await topic.focus()
  await page.keyboard.press('Enter')
  const pod = page.getByRole('columnheader', { name: /^Pod/ }).first()
  await pod.waitFor()
  t.equal(await pod.getAttribute('aria-sort'), 'ascending')
  await page.keyboard.press('Tab')
  t.equal(await focused(), 'DIV', 'the table scrolls with the keys')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  t.equal(await pod.getAttribute('aria-sort'), 'descending')
})

t.test('a plot has a name for readers who do not see it', async (t) => {
  const open = await browserOf(t)
  const { page } = await open(await makePage(t, { files: RUNS.vitals }))
  const plot = page.getByRole('img', { name: /^CPU over time: from [\d.]+ to [\d.]+ % of a core$/ })
  t.equal(await plot.count(), 1)
})

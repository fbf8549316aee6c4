import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { until } from '../../../../until.ts'
import { problemsOf } from '../../report/axe.ts'
import { coloursOf, launchBrowser, type Opened, openTopics } from '../../report/browser.ts'
import { storedRun, storedRuns, writeRunsPage } from './stored-runs.ts'

// The page with the runs of a namespace, as files without a server.

const browser = await launchBrowser()
t.teardown(browser.close)

/** Opens a page in the browser of all tests. */
async function open(path: string, topics: 'open' | 'closed' = 'open'): Promise<Opened> {
  return browser.open(path, topics)
}

const RUNS = storedRuns(250)

const namesOn = (page: Page) => page.locator('#runs tbody th').allInnerTexts()

/** Waits until the page says how many runs it shows: it handles an event in the next frame. */
async function awaitShown(page: Page, words: string): Promise<void> {
  await until(`the page shows ${words}`, async () => {
    return (await page.textContent('#shown')) === words
  })
}

async function clickTitle(page: Page, title: string): Promise<string | null> {
  await page.getByRole('columnheader', { name: title }).getByRole('button').click()
  return page.getByRole('columnheader', { name: title }).getAttribute('aria-sort')
}

t.test('runs are listed, filtered, sorted, plotted and compared', async (t) => {
  const folder = t.testdir({})
  const { page, said, requests } = await open(await writeRunsPage(folder, RUNS), 'closed')
  t.equal(await page.textContent('h1'), 'Runs in namespace hpc')
  await listsPages(t, page)
  await filters(t, page)
  await compares(t, page)
  await plots(t, page)
  t.strictSame(said, [])
  t.strictSame(requests, [])
  await opensReports(t, page, folder)
})

async function listsPages(t: Test, page: Page): Promise<void> {
  t.strictSame(
    await namesOn(page),
    RUNS.slice(0, 100).map(({ name }) => name),
  )
  t.equal(await page.textContent('#place'), '1 to 100 of 250')
  t.equal(await page.isDisabled('#before'), true)
  await page.click('#after')
  await page.click('#after')
  t.equal(await page.textContent('#place'), '201 to 250 of 250')
  t.equal(await page.isDisabled('#after'), true)
  t.equal((await namesOn(page)).at(-1), storedRun(0).name)
  t.equal(await clickTitle(page, 'Time'), 'descending')
  t.equal((await namesOn(page))[0], storedRun(249).name)
  t.equal(await clickTitle(page, 'Time'), 'ascending')
  t.equal((await namesOn(page))[0], storedRun(0).name)
  t.equal(await clickTitle(page, 'To start'), 'descending')
  t.equal((await namesOn(page))[0], storedRun(1).name)
  t.equal(await clickTitle(page, 'Lost'), 'descending')
  t.equal((await namesOn(page))[0], storedRun(42).name)
  t.equal(await clickTitle(page, 'Run'), 'ascending')
  t.match((await namesOn(page))[0], /^solver-0-/)
  const cells = await page.locator('#runs tbody tr').first().locator('td').allInnerTexts()
  t.strictSame(cells.slice(1), [
    ...[
      'job/solver-0',
      'Succeeded',
      '2026-01-01 00:00',
      '60 s',
      '–',
      '–',
      '4/4',
      '2/4',
      '256Mi/2Gi',
      '–',
    ],
  ])
}

async function filters(t: Test, page: Page): Promise<void> {
  await page.fill('#search', 'failed KILLED')
  await awaitShown(page, '25 of 250 runs')
  t.match(await page.locator('#runs tbody tr').first().innerText(), /memory ran out/)
  await page.selectOption('#workload', { label: 'job/solver-3 (36)' })
  await awaitShown(page, '3 of 250 runs')
  await page.click('#reset')
  await awaitShown(page, '250 of 250 runs')
  await page.fill('#search', 'example/solver:2')
  await awaitShown(page, '83 of 250 runs')
  await page.fill('#search', '')
  await page.getByRole('button', { name: 'job/solver-2' }).first().click()
  await awaitShown(page, '36 of 250 runs')
}

async function compares(t: Test, page: Page): Promise<void> {
  t.equal(await page.isVisible('#comparison'), false)
  const box = (index: number) => page.getByLabel(`compare ${storedRun(index).name}`)
  await box(2).check()
  t.match(await page.textContent('#comparison'), 'Choose a second run')
  await box(9).check()
  await box(16).check()
  t.equal(await box(2).isChecked(), false, 'a third run takes the place of the first')
  const rowOf = (name: RegExp) => page.locator('#comparison').getByRole('row', { name })
  t.strictSame(await rowOf(/^Time/).getByRole('cell').allInnerTexts(), ['69 s', '76 s', '+10.1 %'])
  t.match(await rowOf(/^First finding/).innerText(), 'memory ran out')
  t.strictSame(
    await rowOf(/^Images/)
      .getByRole('cell')
      .allInnerTexts(),
    [...['registry.example/solver:0', 'registry.example/solver:1', '']],
  )
  const link = page.locator('#comparison').getByRole('link', { name: storedRun(9).name })
  t.equal(await link.getAttribute('href'), `./${storedRun(9).path}/report.html`)
}

async function plots(t: Test, page: Page): Promise<void> {
  await openTopics(page)
  const drawn = await coloursOf(page, '#trend canvas')
  t.equal(drawn.length, 3)
  for (const colours of drawn) t.ok(colours > 10, `${colours} colours`)
  const names = await page
    .locator('#trend')
    .getByRole('img')
    .evaluateAll((plots) => plots.map(({ ariaLabel }) => ariaLabel))
  t.equal(names[0], 'Time of 36 runs: from 62 s to 5 min 7 s')
}

async function opensReports(t: Test, page: Page, folder: string): Promise<void> {
  const [report, { name, path }] = [join(folder, storedRun(2).path, 'report.html'), storedRun(2)]
  mkdirSync(dirname(report), { recursive: true })
  writeFileSync(report, '<title>the report of run 2</title>')
  await page.getByRole('rowheader').getByRole('link', { name }).click()
  t.equal(await page.title(), 'the report of run 2', path)
  await page.goBack()
}

t.test('texts that users of pods can write are inert', async (t) => {
  const text = `</script><img src=x onerror="alert(1)"><!--<script>\u202e\u001b`
  const hostile = (index: number) => ({
    ...storedRun(index),
    ...{
      name: `${text}${index}`,
      workload: text,
      finding: text,
      images: [text],
      path: `date=1/run="><b>${index}`,
    },
  })
  const path = await writeRunsPage(t.testdir({}), [hostile(0), hostile(1)], text)
  const { page, said, requests }: Opened = await open(path)
  t.equal(await page.locator('img, b').count(), 0)
  const shown = text.replace('\u202e', '\\u202e').replace('\u001b', '\\u001b')
  t.equal(await page.textContent('h1'), `Runs in namespace ${shown}`)
  t.strictSame(await namesOn(page), [`${shown}1`, `${shown}0`])
  const link = page.getByRole('rowheader').getByRole('link').first()
  t.match(await link.getAttribute('href'), /^\.\/date=1\/run=%22%3E%3Cb%3E1\/report\.html$/)
  for (const box of await page.getByRole('checkbox').all()) await box.check()
  t.equal(await page.locator('#comparison').getByRole('link').count(), 2)
  t.equal(await page.locator('img, b').count(), 0)
  t.strictSame(said, [])
  t.strictSame(requests, [])
})

t.test('axe finds nothing on the page, light and dark', async (t) => {
  const { page } = await open(await writeRunsPage(t.testdir({}), storedRuns(30)), 'closed')
  t.strictSame(await problemsOf(page), [])
  await openTopics(page)
  for (const index of [3, 5]) await page.getByLabel(`compare ${storedRun(index).name}`).check()
  t.strictSame(await problemsOf(page), [], 'with the trend and a comparison')
  await page.click('#theme')
  t.equal(await page.evaluate('document.documentElement.dataset.theme'), 'dark')
  t.strictSame(await problemsOf(page), [], 'in the dark')
})

t.test('the keyboard reaches everything, and runs without numbers are listed', async (t) => {
  const nothing = { used: null, requested: null }
  const unknown = {
    ...storedRun(1),
    ...{
      phase: null,
      started: null,
      seconds: null,
      pods: null,
      cores: nothing,
      memory: nothing,
    },
    hasPage: false,
  }
  const { page, said } = await open(await writeRunsPage(t.testdir({}), [storedRun(0), unknown]))
  await page.setViewportSize({ width: 400, height: 800 })
  await until('only the table scrolls', async () => {
    return (await page.evaluate('document.documentElement.scrollWidth')) === 400
  })
  t.equal(await page.getByRole('rowheader').getByRole('link').count(), 1)
  await page.getByLabel(`compare ${unknown.name}`).focus()
  await page.keyboard.press('Space')
  t.equal(await page.isVisible('#comparison'), true)
  t.equal(
    await page.evaluate('document.activeElement.ariaLabel'),
    `compare ${unknown.name}`,
    'the focus stays where it was',
  )
  await page.fill('#search', 'solver-1')
  await awaitShown(page, '1 of 2 runs')
  t.strictSame(await page.locator('#trend .none').count(), 3)
  t.strictSame(said, [])
})

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { readComparisonStyle } from '../../../../../cli/shared/page/page-assets.ts'
import { compareSides, type RunComparison } from '../../../../../src/runs/compare/comparison.ts'
import { renderComparison } from '../../../../../src/runs/compare/page/comparison-page.ts'
import { problemsOf } from '../../report/axe.ts'
import { launchBrowser } from '../../report/browser.ts'
import { recordedRuns, side } from '../draws.ts'

const LIMITED = compareSides([
  side('A', recordedRuns('even').slice(0, 5)),
  side('B', recordedRuns('limited').slice(0, 5)),
])

async function htmlOf(comparison: RunComparison): Promise<string> {
  const style = await readComparisonStyle()
  return renderComparison({ title: 'A <b>', style, comparison, generator: 'Made by a test.' })
}

/** Opens the page of a comparison, and returns it with the messages of its console. */
async function openPage(t: Test, options: object) {
  const path = join(t.testdir({}), 'comparison.html')
  writeFileSync(path, await htmlOf(LIMITED))
  const { context, close } = await launchBrowser(options)
  t.teardown(close)
  const page = await context.newPage()
  const said: string[] = []
  page.on('console', (message) => said.push(message.text()))
  await page.goto(pathToFileURL(path).href)
  return { page, said }
}

t.test('the page begins with the result, and has the tables of the terminal', async (t) => {
  const { page, said } = await openPage(t, {})
  t.match(await page.locator('main > p').first().innerText(), /^B is slower than A: .* Throttled/)
  t.strictSame(await page.locator('h2').allInnerTexts(), [
    'Findings',
    'B against A',
    'Pods and MPI ranks with the largest change',
    'Functions of MPI',
  ])
  const times = page.getByRole('row', { name: /^since MPI_Init / })
  const [title, base, other, change] = await times
    .getByRole('cell')
    .or(times.getByRole('rowheader'))
    .allInnerTexts()
  t.equal(title, 'since MPI_Init')
  t.match([base, other], [/^2\.\d+ s$/, /^8\.\d+ s$/])
  t.match(change, /^\+\d{3} %$/)
  t.equal((await page.locator('td.changed', { hasText: 'more' }).count()) > 5, true)
  t.strictSame(said, [], 'the style sheet is allowed')
  t.match(await page.evaluate('getComputedStyle(document.body).fontFamily'), /system-ui/)
})

for (const colorScheme of ['light', 'dark'])
  t.test(`axe finds nothing on the page, ${colorScheme}`, async (t) => {
    const { page } = await openPage(t, { colorScheme })
    t.strictSame(await problemsOf(page), [])
  })

t.test('a small screen scrolls tables, and not the page', async (t) => {
  const { page } = await openPage(t, { viewport: { width: 400, height: 800 } })
  t.equal(await page.evaluate('document.documentElement.scrollWidth'), 400)
})

t.test('texts of logs are escaped', async (t) => {
  const [run] = recordedRuns('even')
  if (run === undefined) throw new Error('there are recorded runs')
  const named = { ...run, name: '<script>', notices: ['a \u001b[2J & <img>'] }
  const html = await htmlOf(compareSides([side('A', [named]), side('B', [run])]))
  t.match(html, '<h1>A &lt;b&gt;</h1>')
  t.match(html, '<td>&lt;script&gt;</td>')
  t.match(html, 'a \\u001b[2J &amp; &lt;img&gt;')
  t.notMatch(html, '<script')
})

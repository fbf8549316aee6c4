import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { run } from '../../../cli/command.ts'
import { browserOf, coloursOf, rowsAre } from './browser.ts'
import { generatedLines } from './generated.ts'
import { pageOf, SMALL } from './generated-page.ts'

t.test('the page draws its plots, without console messages and requests', async (t) => {
  const open = await browserOf(t)
  const { page, said, requests } = await open(await pageOf(t, SMALL))
  const plots = await coloursOf(page, '#plots canvas')
  t.equal(plots.length, 6)
  for (const colours of plots) t.ok(colours > 10, `${colours} colours`)
  const [strip = 0] = await coloursOf(page, '#strip .strip canvas')
  t.ok(strip > 10, `${strip} colours`)
  t.equal(
    await page.locator('#devices').isVisible(),
    false,
    'without a log of io-sysstat, no devices are shown',
  )
  t.strictSame(said, [])
  t.strictSame(requests, [])
})

t.test('only the slow pod is marked as an outlier', async (t) => {
  const open = await browserOf(t)
  const { page } = await open(await pageOf(t, SMALL))
  const marked = await page.$$eval('#summary tbody tr:has(td.out)', (rows) =>
    rows.map((row) => row.children[0]?.textContent),
  )
  t.strictSame(marked, ['2'])
  await page.check('#outliers')
  await rowsAre(page, 1)
  t.equal(await page.textContent('#shown'), '1 of 4 lines')
})

t.test('the table is filtered by pod and program, and shows all rows again', async (t) => {
  const folder = t.testdir({})
  const [data, path] = [join(folder, 'run.jsonl'), join(folder, 'page.html')]
  const others = [...generatedLines({ ...SMALL, program: 'python3' })]
  // The rows of a timepoint are together, as an observer writes them.
  const lines = [...generatedLines(SMALL)].map((line, index) => {
    return line.includes('"process"') ? `${line}\n${others[index]}` : line
  })
  writeFileSync(data, lines.join('\n'))
  t.equal((await run(['report', data, '--to', path])).code, 0)
  const open = await browserOf(t)
  const { page, said } = await open(path)
  const rows = () =>
    page.$$eval('#summary tbody tr', (all) =>
      all.map((row) => `${row.children[0]?.textContent} ${row.children[1]?.textContent}`),
    )
  t.equal((await rows()).length, 8)
  await page.fill('#pods', '1-2')
  await rowsAre(page, 4)
  t.strictSame(await rows(), ['1 lmp', '1 python3', '2 lmp', '2 python3'])
  await page.uncheck('#programs input[value="python3"]')
  await rowsAre(page, 2)
  t.strictSame(await rows(), ['1 lmp', '2 lmp'])
  t.equal(await page.textContent('#legend'), 'pod 1, lmp 101pod 2, lmp 102')
  await page.click('#reset')
  await rowsAre(page, 8)
  await page.fill('#pods', 'nobody')
  await rowsAre(page, 0)
  t.strictSame(said, [])
})

t.test('a click on a column title sorts the table', async (t) => {
  const open = await browserOf(t)
  const { page } = await open(await pageOf(t, SMALL))
  const first = () => page.textContent('#summary tbody tr td')
  await page.click('#summary thead button:text("Voluntary switches")')
  t.equal(await first(), '2', 'the largest value is first')
  await page.click('#summary thead button:text("Pod")')
  await page.click('#summary thead button:text("Pod")')
  t.equal(await first(), '3')
})

t.test('the page is dark if the reader prefers this, and light on paper', async (t) => {
  const open = await browserOf(t, { colorScheme: 'dark' })
  const { page, said } = await open(await pageOf(t, SMALL))
  const paper = () => page.evaluate('getComputedStyle(document.body).backgroundColor')
  t.equal(await paper(), 'rgb(20, 24, 28)')
  await page.evaluate("dispatchEvent(new Event('beforeprint'))")
  t.equal(await paper(), 'rgb(255, 255, 255)')
  await page.evaluate("dispatchEvent(new Event('afterprint'))")
  t.equal(await paper(), 'rgb(20, 24, 28)')
  await page.click('#theme')
  t.equal(await paper(), 'rgb(255, 255, 255)')
  t.ok((await page.pdf()).length > 10_000)
  t.strictSame(said, [])
})

t.test('the page does not run text of its data as HTML', async (t) => {
  const open = await browserOf(t)
  const program = '</script><script>document.title="broken"</script><img src=http://127.0.0.1:9/x>'
  const path = await pageOf(t, { ...SMALL, program }, '--title', '<b>a & "b"</b></title><script>')
  const { page, said, requests } = await open(path)
  t.equal(await page.title(), '<b>a & "b"</b></title><script>')
  t.equal(await page.textContent('#summary tbody tr td:nth-child(2)'), program)
  t.equal(await page.locator('img').count(), 0)
  t.strictSame(said, [])
  t.strictSame(requests, [])
})

t.test('the page blocks every request', async (t) => {
  const open = await browserOf(t)
  const { page, said } = await open(await pageOf(t, SMALL))
  const outcome = await page.evaluate(() =>
    fetch('http://127.0.0.1:9/').then(
      () => 'sent',
      () => 'refused',
    ),
  )
  t.equal(outcome, 'refused')
  t.match(said.join(), /Content Security Policy/)
})

t.test('the page shows 1,000 pods, states that it is downsampled, and finds one pod', async (t) => {
  const open = await browserOf(t)
  const path = await pageOf(t, { pods: 1000, timepoints: 200, straggler: 137 })
  t.ok(statSync(path).size < 12_000_000, `a page of ${statSync(path).size} bytes`)
  const { page, said, requests } = await open(path)
  t.match(
    await page.textContent('#notices'),
    /downsampled: each point stands for .* shows the minimum and the maximum/,
  )
  t.equal(await page.textContent('#shown'), '1,000 of 1,000 lines')
  const heap = Number(await page.evaluate('performance.memory.usedJSHeapSize'))
  t.ok(heap < 400_000_000, `${heap} bytes of heap`)
  for (const colours of await coloursOf(page, '#plots canvas')) t.ok(colours > 5)
  await page.check('#outliers')
  await rowsAre(page, 1)
  t.equal(await page.textContent('#summary tbody tr td'), '137')
  t.strictSame(said, [])
  t.strictSame(requests, [])
})

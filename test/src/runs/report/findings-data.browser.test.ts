import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { run } from '../../../cli/command.ts'
import { browserOf, coloursOf } from './browser.ts'

const logs = fileURLToPath(new URL('../../../logs/findings', import.meta.url))

/** Makes the page of recorded runs, and opens it. */
async function open(t: Test, ...kinds: readonly string[]) {
  const path = join(t.testdir({}), 'page.html')
  const files = kinds.flatMap((kind) =>
    ['pressure', 'perf-sysstat'].map((metric) => join(logs, `${metric}-${kind}.log`)),
  )
  const { code, err } = await run(['report', ...files, '--to', path])
  t.equal(code, 0, err)
  return (await browserOf(t))(path)
}

t.test('the worst finding is first, and each has its evidence and its plot', async (t) => {
  const kinds = ['healthy', 'throttled', 'crowded', 'memory', 'storage']
  const { page, said, requests } = await open(t, ...kinds)
  t.equal(await page.locator('.topic h2').first().innerText(), 'Findings')
  const titles = await page.locator('#findings article > h3').allInnerTexts()
  t.equal(titles.length, 4)
  t.equal(titles[0], 'Throttled')
  t.equal(titles.at(-1), 'Close to the memory limit', 'a risk is last')
  const first = page.locator('#finding-0')
  t.match(await first.innerText(), /What to do: Raise or remove the CPU limit/)
  t.match(await first.innerText(), /kubernetes-mixin/)
  t.strictSame(await first.locator('thead th').allInnerTexts(), [
    ...['Pod', 'Time lost', 'throttled periods', 'time throttled'],
    ...['throttled, summed over processors', 'CPU time of the container', 'CPU limit'],
  ])
  t.equal(await first.locator('tbody td').first().innerText(), '1')
  const plots = await page.locator('#findings .plot h3').allInnerTexts()
  t.strictSame([...plots].sort(), [
    'Delay by block I/O clock ticks',
    'Memory without files MiB',
    'Throttled % of the time',
    'Waiting for a processor % of the time',
  ])
  const colours = await coloursOf(page, '#findings .plot canvas')
  t.equal(colours.length, 4)
  for (const count of colours) t.ok(count > 10, `the plot has ${count} colours`)
  t.match(await page.locator('#finding-0 .legend').innerText(), 'pod 1, app')
  t.notMatch(await page.locator('#finding-0 .legend').innerText(), 'pod 0')
  t.strictSame([said, requests], [[], []])
})

t.test('without a finding, the page says which rules were not checked', async (t) => {
  const { page } = await open(t, 'healthy')
  t.equal(await page.locator('#findings article').count(), 0)
  t.match(
    await page.locator('#findings .note').innerText(),
    /^The rules that could be checked found nothing/,
  )
  const notes = await page.locator('#findings li').allInnerTexts()
  t.match(notes.join('\n'), /^Not checked: Memory pressure: memory_some of pressure could not/m)
  t.match(notes.join('\n'), /Retransmissions, Network-bound: metric network was not collected\.$/m)
  t.equal(
    await page.locator('#plots h3:has-text("iodelay")').count(),
    0,
    'a column that only a finding needs is not plotted without it',
  )
})

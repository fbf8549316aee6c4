import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { until } from '../../../../../until.ts'
import { browserOf, rowsAre } from '../../browser.ts'
import { generatedLines } from '../../generated.ts'
import { type ProfileRows, profileLines } from '../../tools/profile-rows.ts'
import { makePage } from '../make-page.ts'

/** Makes the page of rows of processes by pod. */
function pageOf(t: Test, rows: readonly (readonly [string, ProfileRows])[]): Promise<string> {
  return makePage(t, { lines: rows.flatMap(([pod, own]) => profileLines(pod, own)) })
}

/** The frames that are drawn, by name, and their widths in pixels. */
async function framesOf(page: Page): Promise<Readonly<Record<string, number>>> {
  const pairs = await page.$$eval('#profiles g.frame', (frames) =>
    frames.map((frame) => [
      frame.getAttribute('name') ?? '',
      Number(frame.querySelector('rect')?.getAttribute('width') ?? 0),
    ]),
  )
  return Object.fromEntries(pairs)
}

/** Waits until a frame has a width, as frames are drawn in several steps. */
async function frameIs(page: Page, name: string, isWidth: (width: number) => boolean) {
  await until(`the frame ${name} has its width`, async () => {
    const width = (await framesOf(page))[name]
    return width !== undefined && isWidth(width)
  })
}

const near = (expected: number) => (width: number) => Math.abs(width - expected) < 2

/** Two programs; pod 2 takes twice as long in a function. */
const ROWS = ['0', '1', '2'].map((pod) => {
  const compute = pod === '2' ? 60 : 30
  return [
    pod,
    {
      functions: { compute, wait: 10 },
      stacks: { 'main;run;compute': compute, 'main;wait': 10, '(other)': 5 },
    },
  ] as const
})
const TWO_PROGRAMS = [
  ...ROWS,
  ['0', { functions: { eval: 3 }, stacks: { eval: 3 }, program: 'python3' }],
] as const

t.test('the flame graph of LAMMPS has its functions', async (t) => {
  const folder = new URL('../../../../../logs/profiles/', import.meta.url)
  const names = ['0', '1', '2', '3'].map((pod) => `cpu-profile-lammps-${pod}.log`)
  const files = names.map((name) => fileURLToPath(new URL(name, folder)))
  const { page, said, requests } = await (await browserOf(t))(await makePage(t, { files }))
  await frameIs(page, 'LAMMPS_NS::PairLJCut::compute', (width) => width > 600)
  const title = await page.textContent('#profiles g[name$="PairLJCut::compute"] title')
  t.equal(title, 'LAMMPS_NS::PairLJCut::compute: 15.57 s, 78.2 % of 19.91 s')
  t.match(await page.textContent('#findings article'), 'LAMMPS_NS::PairLJCut::compute')
  const cells = await page.locator('#profiles .differing tbody tr').first().innerText()
  t.match(cells, /^cpu-profile-lammps-2\.log\s.*PairLJCut::compute.*\s6\.37\s+3\.08\s+3\.29/)
  t.strictSame([said, requests], [[], []])
})

t.test('a click enlarges a frame, and a pod and a program can be chosen', async (t) => {
  const { page, said } = await (await browserOf(t))(await pageOf(t, TWO_PROGRAMS))
  const whole = Number(await page.getAttribute('#profiles svg', 'width'))
  await frameIs(page, 'run', near((whole * 120) / 165))
  await frameIs(page, '(other)', near((whole * 15) / 165))
  await page.click('#profiles g[name="run"]')
  await frameIs(page, 'run', near(whole))
  t.notOk('wait' in (await framesOf(page)), 'only the frames above and below are shown')
  await page.click('#profiles g[name="all pods"]')
  await frameIs(page, 'wait', near((whole * 30) / 165))
  await page.selectOption('#profile-pod', '2')
  await frameIs(page, 'run', near((whole * 60) / 75))
  t.ok('pod 2' in (await framesOf(page)))
  t.strictSame(await page.locator('#functions tbody tr').allInnerTexts(), [
    '2\tcompute (lib.so)\t60\t60',
    '2\twait (lib.so)\t10\t10',
  ])
  await page.selectOption('#profile-program', { label: 'python3, 3 s' })
  await frameIs(page, 'eval', near(whole))
  t.strictSame(await page.locator('#profile-pod option').allInnerTexts(), ['all 1 pod', '0'])
  t.match(await page.textContent('#profiles .rule'), /At least three pods are needed/)
  t.strictSame(said, [])
})

t.test('the search marks frames, and the filter of the page selects pods', async (t) => {
  const { page, said } = await (await browserOf(t))(await pageOf(t, ROWS))
  const marked = () =>
    page.$$eval('#profiles g.frame', (frames) =>
      frames.flatMap((frame) =>
        frame.querySelector('rect')?.getAttribute('fill') === 'var(--frame-found)'
          ? [frame.getAttribute('name')]
          : [],
      ),
    )
  await page.fill('#profile-search', 'COMPUTE')
  t.strictSame(await marked(), ['compute'])
  t.equal(await page.textContent('#profiles .told'), 'found: 1 frame with 120 s, 72.7 % of 165 s')
  await page.selectOption('#profile-pod', '2')
  t.strictSame(await marked(), ['compute'], 'the search stays')
  await page.fill('#profile-search', '(')
  t.strictSame(await marked(), ['(other)'], 'the text is no regular expression')
  await page.fill('#profile-search', '')
  t.strictSame(await marked(), [])
  await page.selectOption('#profile-pod', '')
  await page.fill('#pods', '1')
  const rows = page.locator('#functions tbody tr')
  await until('the table has the rows of pod 1', async () => (await rows.count()) === 2)
  t.strictSame(said, [])
})

t.test('names of functions are never HTML, and long ones are cut', async (t) => {
  const html = '</script><img src=http://127.0.0.1:9/x onerror=document.title="broken">'
  const names = [html, 'a\u001b[2J\u202eb\u0000c', 'x'.repeat(10_000), '', ';', '__proto__']
  const stacks = Object.fromEntries(names.map((name, at) => [`main;${name};end`, at + 1]))
  const functions = Object.fromEntries(names.map((name, at) => [name, at + 1]))
  const own = { functions, stacks: { ...stacks, [';'.repeat(9000)]: 1 }, program: html }
  const path = await pageOf(t, [['0', own]])
  t.notMatch(readFileSync(path, 'utf8'), '<img')
  const { page, said, requests } = await (await browserOf(t))(path)
  await frameIs(page, 'main', (width) => width > 900)
  const drawn = Object.keys(await framesOf(page))
  t.ok(drawn.includes(html))
  t.ok(drawn.includes('a\\u001b[2J\\u202eb\\u0000c'))
  t.equal(Math.max(...drawn.map((name) => name.length)), 512)
  t.notOk(await page.locator('img').count())
  await page.fill('#profile-search', html)
  await page.click('#profiles g[name="end"] >> nth=0')
  t.equal(await page.title(), 'Observers in hpc')
  t.strictSame([said, requests], [[], []])
})

t.test('the graph is dark if the reader prefers this', async (t) => {
  const open = await browserOf(t, { colorScheme: 'dark' })
  const { page, said } = await open(await pageOf(t, ROWS))
  const colour = () =>
    page.evaluate(`getComputedStyle(document.querySelector('[name="(other)"] rect')).fill`)
  t.equal(await colour(), 'rgb(57, 66, 75)')
  await page.click('#theme')
  t.equal(await colour(), 'rgb(221, 227, 232)')
  t.strictSame(said, [])
})

t.test('a page without profiles has no flame graph', async (t) => {
  const path = await makePage(t, { lines: generatedLines({ pods: 3, timepoints: 3 }) })
  const { page, said } = await (await browserOf(t))(path)
  await rowsAre(page, 3)
  t.equal(await page.locator('#profiles').count(), 0)
  t.strictSame(said, [])
})

t.test('only a page with profiles contains the libraries of flame graphs', async (t) => {
  const lines = generatedLines({ pods: 3, timepoints: 3 })
  const without = readFileSync(await makePage(t, { lines }), 'utf8')
  t.notMatch(without, /flame|profile/i)
  const whole = readFileSync(await pageOf(t, ROWS), 'utf8')
  t.match(whole, '/* d3-flame-graph\n                                 Apache License')
  t.match(whole, /\/\* d3-selection\nCopyright \d+-\d+ Mike Bostock/)
  t.match(whole, 'Flame graphs by d3-flame-graph (Apache-2.0) and D3 (ISC, BSD).')
})

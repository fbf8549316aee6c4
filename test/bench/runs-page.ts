/**
 * Measures how long Chromium takes to open the page with 10,000 runs of a namespace, and to search,
 * sort and plot them, compared with a page of 1,000 runs: `npm run bench:runs`. The exit code is 1
 * if opening the larger page takes more than 12 times as long. Needs Chromium.
 */
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { median } from '../../src/lib/statistics.ts'
import { storedRuns, writeRunsPage } from '../src/runs/archive/page/stored-runs.ts'
import { launchBrowser } from '../src/runs/report/browser.ts'

const SIZES = [1000, 10_000] as const
const ROUNDS = 7
/** The most time to open the larger page, as a multiple of that of the smaller one. */
const MAX_RATIO = 12

/** Milliseconds. */
interface Times {
  readonly open: number
  readonly search: number
  readonly sort: number
  readonly plot: number
}

const print = (line: string) => process.stdout.write(`${line}\n`)

/** Returns the milliseconds of a script in the page until its result has been drawn. */
async function time(page: Page, script: string): Promise<number> {
  return page.evaluate(`new Promise((resolve) => {
    const began = performance.now()
    ${script}
    requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now() - began)))
  })`)
}

const INPUT = "dispatchEvent(new Event('input', { bubbles: true }))"

async function measure(path: string): Promise<Times> {
  const { open, close } = await launchBrowser()
  const { page } = await open(path, 'closed')
  // Until the first rows are in the table; to draw them takes the same time on each page.
  const complete = await page.evaluate(() => performance.getEntriesByName('complete')[0]?.startTime)
  const times = {
    open: complete ?? Number.NaN,
    search: await time(page, `search.value = 'solver-3 memory'; search.${INPUT}`),
    sort: await time(page, "reset.click(); document.querySelector('#runs thead button').click()"),
    plot: await time(page, "document.querySelector('#trend').open = true"),
  }
  await close()
  return times
}

const folder = mkdtempSync(join(tmpdir(), 'ridealong-bench-'))
try {
  const pages = new Map<number, string>()
  for (const count of SIZES) {
    const own = join(folder, String(count))
    mkdirSync(own)
    pages.set(count, await writeRunsPage(own, storedRuns(count)))
  }
  const times = new Map<number, Times[]>(SIZES.map((count) => [count, []]))
  for (let round = 0; round < ROUNDS; round += 1)
    for (const [count, path] of pages) times.get(count)?.push(await measure(path))
  const medianOf = (count: number, name: keyof Times) =>
    median((times.get(count) ?? []).map((own) => own[name])) ?? Number.NaN
  for (const [count, path] of pages) {
    const parts = (['open', 'search', 'sort', 'plot'] as const).map(
      (name) => `${name} ${medianOf(count, name).toFixed(0)} ms`,
    )
    const mebibytes = (statSync(path).size / 2 ** 20).toFixed(1)
    print(`${count} runs, ${mebibytes} MiB: ${parts.join(', ')}, the medians of ${ROUNDS} rounds`)
  }
  const [small, large] = SIZES
  const ratio = medianOf(large, 'open') / medianOf(small, 'open')
  print(`opening ${large} runs takes ${ratio.toFixed(2)} times as long as ${small} runs`)
  if (!(ratio <= MAX_RATIO)) process.exitCode = 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}

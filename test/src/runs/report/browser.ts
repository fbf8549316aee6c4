import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type BrowserContext, chromium, type Page } from 'playwright-core'
import type { Test } from 'tap'
import { CHROMIUM } from '../../../tiers/tiers.ts'
import { until } from '../../../until.ts'

const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** A page in a real browser, with its errors and requests. */
export interface Opened {
  readonly page: Page
  /** Errors and messages in the console. */
  readonly said: string[]
  /** The URLs of all requests except the one for the page itself. */
  readonly requests: string[]
}

/** Starts a browser with its own profile; `close` ends it and removes the profile. */
export async function launchBrowser(options: object = {}) {
  const profile = mkdtempSync(join(tmpdir(), 'ridealong-browser-'))
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: CHROMIUM,
    args: FLAGS,
    viewport: { width: 1280, height: 900 },
    ...options,
  })
  const close = async () => {
    await context.close()
    rmSync(profile, { recursive: true, force: true })
  }
  const openWith = (path: string, topics: Topics = 'open') => open(context, path, topics)
  return { context, open: openWith, close }
}

/** Returns a function that opens pages in one browser, which ends with the test. */
export async function browserOf(t: Test, options: object = {}) {
  const { open, close } = await launchBrowser(options)
  t.teardown(close)
  return open
}

/** Whether the topics of the page are opened, or remain closed as for a reader. */
type Topics = 'open' | 'closed'

async function open(context: BrowserContext, path: string, topics: Topics): Promise<Opened> {
  const page = await context.newPage()
  const said: string[] = []
  const requests: string[] = []
  const url = pathToFileURL(path).href
  page.on('console', (message) => said.push(message.text()))
  page.on('pageerror', (error) => said.push(String(error)))
  page.on('request', (request) => {
    if (request.url() !== url) requests.push(request.url())
  })
  await page.goto(url)
  await page.waitForSelector('html[data-state="complete"]')
  if (topics === 'open') await openTopics(page)
  return { page, said, requests }
}

/** Opens all topics of a page, and waits until they are drawn. */
export async function openTopics(page: Page): Promise<void> {
  await page.evaluate(`new Promise((resolve) => {
    for (const topic of document.querySelectorAll('details.topic')) topic.open = true
    requestAnimationFrame(() => requestAnimationFrame(resolve))
  })`)
}

/** Returns the number of colours on each canvas: one if nothing was drawn. */
export async function coloursOf(page: Page, selector: string): Promise<readonly number[]> {
  const counting = `[...document.querySelectorAll(${JSON.stringify(selector)})].map((canvas) => {
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
    return new Set(new Uint32Array(data.buffer)).size
  })`
  return page.evaluate(counting)
}

/**
 * Waits until the summary table has this number of rows; the page draws some time after an event.
 * The test polls from outside, because the page's Content-Security-Policy prevents a wait inside
 * the page.
 */
export async function rowsAre(page: Page, count: number): Promise<void> {
  const rows = page.locator('#summary tbody tr')
  await until(`the table has ${count} rows`, async () => (await rows.count()) === count)
}

/** Returns the headings of a page's sections, plots and columns, one per line. */
export async function headingsOf(page: Page): Promise<string> {
  const texts = await page.locator('h2, h3, thead th').allInnerTexts()
  return texts.map((text) => `${text.replaceAll(/\s+/g, ' ').trim()}\n`).join('')
}

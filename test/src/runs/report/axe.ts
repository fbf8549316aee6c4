import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/**
 * Returns what axe, the accessibility engine of Deque, finds on a page, each with the first
 * elements that it is about.
 */
export async function problemsOf(page: Page): Promise<readonly string[]> {
  await page.evaluate(AXE)
  return page.evaluate(`axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
    violations.map(({ id, help, nodes }) =>
      [id, help, ...nodes.slice(0, 3).map(({ html }) => html.slice(0, 160))].join(' | ')))`)
}

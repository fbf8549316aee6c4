import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Page } from 'playwright-core'
import type { Test } from 'tap'
import { until } from '../../../until.ts'
import { launchBrowser } from '../report/browser.ts'

const VIEWER = fileURLToPath(
  new URL('../../../../node_modules/speedscope/dist/release/index.html', import.meta.url),
)

/** A profile as speedscope shows it. */
export interface ShownProfile {
  /** The name of the profile, such as `pod 0, lmp (1/2)`. */
  readonly title: string
  /** The first functions of the table, which is sorted by self time. */
  readonly functions: readonly { name: string; self: string; total: string }[]
}

/** Opens a file in speedscope, in a real browser, and returns all of its profiles. */
export async function showInSpeedscope(
  t: Test,
  name: string,
  file: string | Uint8Array,
  profiles: number,
): Promise<readonly ShownProfile[]> {
  // The command of speedscope opens a file in the same way (bin/cli.mjs).
  const base64 = Buffer.from(file).toString('base64')
  const script = join(t.testdir({}), 'file.js')
  writeFileSync(script, `speedscope.loadFileFromBase64(${JSON.stringify(name)}, "${base64}")`)
  const { context, close } = await launchBrowser()
  t.teardown(close)
  const page = await context.newPage()
  await page.goto(`${pathToFileURL(VIEWER).href}#localProfilePath=${script}`)
  await until('the file is shown', async () => /Left Heavy/.test(await textOf(page)))
  const shown: ShownProfile[] = []
  for (let number = 1; number <= profiles; number += 1) {
    shown.push(await readProfile(page))
    await page.keyboard.press('n')
    const next = `(${number + 1}/${profiles})`
    if (number < profiles)
      await until(`profile ${next} is shown`, async () => (await textOf(page)).includes(next))
  }
  return shown
}

/** Reads the title of the profile, and its table, which the key 3 shows. */
async function readProfile(page: Page): Promise<ShownProfile> {
  await page.keyboard.press('3')
  await until('the table is shown', async () => /Symbol Name/.test(await textOf(page)))
  const [head = '', table = ''] = (await textOf(page)).split('Symbol Name')
  const cells = table.split('\n').flatMap((line) => line.trim() || [])
  const functions = Array.from({ length: Math.floor(cells.length / 3) }, (_, row) => {
    const [total = '', self = '', name = ''] = cells.slice(3 * row, 3 * row + 3)
    return { name, self, total }
  })
  return { title: head.split('\n')[1] ?? '', functions }
}

function textOf(page: Page): Promise<string> {
  return page.evaluate('document.body.innerText')
}

/** Reads a time of speedscope, such as `2.56s (36%)` or `713.17ms (10%)`, in seconds. */
export function secondsIn(text: string): number {
  const [, number = '', unit = ''] = /^([\d.]+)(ns|µs|ms|s) /.exec(text) ?? []
  const factor = { ns: 1e-9, µs: 1e-6, ms: 1e-3, s: 1 }[unit] ?? Number.NaN
  return Number(number) * factor
}

/**
 * `npm run docs:report` writes the pictures and samples of reports that need no cluster:
 * - docs/images/report-2-pods.png: the first screen of a recorded run
 * - docs/images/report-64-pods.png, report-4096-pods.png: the same of generated runs
 * - docs/examples/report-headings.txt: the headings of the report of docs/examples/vitals.log
 */
import { createWriteStream } from 'node:fs'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { run } from '../cli/command.ts'
import { headingsOf, launchBrowser } from '../src/runs/report/browser.ts'
import { busyLines, type Generated } from '../src/runs/report/generated.ts'
import { REPOSITORY } from './pages.ts'

const DOCS = join(REPOSITORY, 'docs')
const RECORDED = join(REPOSITORY, 'test', 'logs', 'all-metrics')
const GENERATED: readonly Generated[] = [64, 4096].map((pods) => {
  return { pods, timepoints: 120, straggler: 37 }
})

/** Makes a report. @throws Error if the command fails */
async function makeReport(files: readonly string[], page: string): Promise<string> {
  const { code, err } = await run(['report', ...files, '--to', page])
  if (code !== 0) throw new Error(`ridealong report ${files.join(' ')}: ${err}`)
  return page
}

function* linesOf(generated: Generated): Generator<string> {
  for (const line of busyLines(generated)) yield `${line}\n`
}

/** Makes the reports of the pictures, and returns them by the number of their pods. */
async function makeReports(folder: string): Promise<ReadonlyMap<number, string>> {
  const names = (await readdir(RECORDED)).filter((name) => name.endsWith('.log'))
  const recorded = names.map((name) => join(RECORDED, name))
  const pages = new Map([[2, await makeReport(recorded, join(folder, '2.html'))]])
  for (const generated of GENERATED) {
    const rows = join(folder, 'rows.jsonl')
    await pipeline(Readable.from(linesOf(generated)), createWriteStream(rows))
    pages.set(generated.pods, await makeReport([rows], join(folder, `${generated.pods}.html`)))
  }
  return pages
}

/** Writes all pictures and samples. */
export async function writeReportImages(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'ridealong-docs-'))
  const { open, close } = await launchBrowser({ viewport: { width: 1280, height: 900 } })
  try {
    for (const [pods, path] of await makeReports(folder)) {
      const { page } = await open(path, 'closed')
      await page.screenshot({ path: join(DOCS, 'images', `report-${pods}-pods.png`) })
      await page.close()
    }
    const log = join(DOCS, 'examples', 'vitals.log')
    const { page } = await open(await makeReport([log], join(folder, 'first.html')))
    await writeFile(join(DOCS, 'examples', 'report-headings.txt'), await headingsOf(page))
  } finally {
    await close()
    await rm(folder, { recursive: true })
  }
}

const [, program = ''] = process.argv
if (basename(program) === 'report-images.ts') await writeReportImages()

/**
 * Measures how long Chromium takes to open a report of 4,096 ranks, compared with a report of 1,024
 * ranks, and prints the findings of both, and the time and the memory of the command that makes
 * them: `npm run bench:report`. Needs Chromium and Linux.
 */
import { execFileSync } from 'node:child_process'
import { createWriteStream, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import type { FindingsDocument } from '../../src/report/findings-document.ts'
import { median } from '../../src/report/statistics.ts'
import { launchBrowser } from '../src/report/browser.ts'
import { type Generated, generatedLines } from '../src/report/generated.ts'

const SIZES = [1024, 4096] as const
const TIMEPOINTS = 120
const ROUNDS = 5
/** The rank that has more work than the others. */
const STRAGGLER = 137
const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

const print = (line: string) => process.stdout.write(`${line}\n`)
/** Makes the command print the peak of its resident memory in MiB when it ends. Needs Linux. */
const PEAK = `data:text/javascript,${encodeURIComponent(
  "import { readFileSync } from 'node:fs'; process.on('exit', () => process.stdout.write(String(" +
    "/VmHWM:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1] / 1024)))",
)}`

/** Writes a report to a file. Returns the peak of the command's resident memory in MiB. */
const report = (...words: string[]) =>
  Number(execFileSync(process.execPath, ['--import', PEAK, MAIN, 'report', ...words]))

/** Yields the lines of a run in which all ranks except the straggler compute half as much. */
function* linesOf(run: Generated): Generator<string> {
  for (const line of generatedLines(run)) {
    const row: { readonly rank: string; readonly percent_cpu?: number } = JSON.parse(line)
    const { rank, percent_cpu: percent } = row
    const isHalved = percent !== undefined && rank !== `${STRAGGLER}`
    yield `${isHalved ? JSON.stringify({ ...row, percent_cpu: percent / 2 }) : line}\n`
  }
}

/** Writes a file of generated rows, makes its report, and returns the path of the page. */
async function pageOf(folder: string, ranks: number): Promise<string> {
  const [rows, page, found] = [
    join(folder, 'rows'),
    join(folder, `${ranks}.html`),
    join(folder, 'found'),
  ]
  const run = { ranks, timepoints: TIMEPOINTS, straggler: STRAGGLER }
  await pipeline(Readable.from(linesOf(run)), createWriteStream(rows))
  const began = performance.now()
  const peak = report(rows, '--to', page)
  const seconds = (performance.now() - began) / 1000
  report(rows, '--output', 'json', '--to', found)
  const { findings }: FindingsDocument = JSON.parse(readFileSync(found, 'utf8'))
  const mebibytes = statSync(page).size / 2 ** 20
  print(
    `${ranks} ranks: ${mebibytes.toFixed(1)} MiB, made in ${seconds.toFixed(1)} s ` +
      `with a peak of ${peak.toFixed(0)} MiB of memory`,
  )
  for (const { sentence } of findings) print(`  ${sentence}`)
  return page
}

/** Returns the seconds until a page shows its plots. */
async function openingTime(path: string): Promise<number> {
  const { open, close } = await launchBrowser()
  const began = performance.now()
  await open(path)
  const seconds = (performance.now() - began) / 1000
  await close()
  return seconds
}

const folder = mkdtempSync(join(tmpdir(), 'ridealong-bench-'))
try {
  const pages = new Map<number, string>()
  for (const ranks of SIZES) pages.set(ranks, await pageOf(folder, ranks))
  const times = new Map<number, number[]>(SIZES.map((ranks) => [ranks, []]))
  for (let round = 0; round < ROUNDS; round += 1)
    for (const [ranks, path] of pages) times.get(ranks)?.push(await openingTime(path))
  const medianOf = (ranks: number) => median(times.get(ranks) ?? []) ?? Number.NaN
  for (const ranks of SIZES)
    print(
      `${ranks} ranks: opened in ${medianOf(ranks).toFixed(2)} s, the median of ${ROUNDS} rounds`,
    )
  const [small, large] = SIZES
  const ratio = (medianOf(large) / medianOf(small)).toFixed(2)
  print(`${large} ranks take ${ratio} times as long as ${small} ranks`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}

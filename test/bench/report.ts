/**
 * Measures the memory and the time for reports of large logs, as a page and as JSON: of 10 MB and
 * of 100 MB, of each shape in logs/large-logs.ts, or of those whose name contains the argument.
 * The exit code is 1 if a report needs too much memory, if the time for a megabyte grows, or if the
 * first screen of a report takes more than a quarter of the time until its plots are shown.
 *
 * Then measures how long Chromium takes to open a report of 4,096 pods and its plots, compared
 * with a report of 1,024 pods, and prints the findings of both, and the time and the memory of the
 * command that makes them: `npm run bench:report`. Needs Chromium and Linux.
 */
import { execFileSync } from 'node:child_process'
import { createWriteStream, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { median } from '../../src/lib/statistics.ts'
import type { FindingsDocument } from '../../src/runs/report/document/findings-document.ts'
import { launchBrowser } from '../src/runs/report/browser.ts'
import { busyLines, type Generated } from '../src/runs/report/generated.ts'
import { LARGE_LOGS, type LargeLog, largeLog } from './logs/large-logs.ts'

const SIZES = [1024, 4096] as const
const TIMEPOINTS = 120
const ROUNDS = 5
/** The pod that has more work than the others. */
const STRAGGLER = 137
const MAIN = fileURLToPath(new URL('../../cli/main.ts', import.meta.url))

const print = (line: string) => process.stdout.write(`${line}\n`)
/** Makes the command print its processor time and the peak of its memory when it ends. */
const USE = `data:text/javascript,${encodeURIComponent(
  "import { readFileSync } from 'node:fs'; process.on('exit', () => { " +
    "const status = readFileSync('/proc/self/status', 'utf8'); " +
    'const mebibytes = /VmHWM:\\s+(\\d+)/.exec(status)[1] / 1024; ' +
    'const { user, system } = process.cpuUsage(); ' +
    'process.stdout.write(JSON.stringify({ mebibytes, seconds: (user + system) / 1e6 })) })',
)}`

/** The processor time of the command in seconds, and the peak of its resident memory in MiB. */
interface Use {
  readonly seconds: number
  readonly mebibytes: number
}

/** Writes a report to a file. */
const report = (...words: string[]): Use => {
  const out = execFileSync(process.execPath, ['--import', USE, MAIN, 'report', '--force', ...words])
  return JSON.parse(`${out}`.split('\n').at(-1) ?? '')
}

function* linesOf(run: Generated): Generator<string> {
  for (const line of busyLines(run)) yield `${line}\n`
}

/** Writes a file of generated rows, makes its report, and returns the path of the page. */
async function pageOf(folder: string, pods: number): Promise<string> {
  const [rows, page, found] = [
    join(folder, 'rows'),
    join(folder, `${pods}.html`),
    join(folder, 'found'),
  ]
  const run = { pods, timepoints: TIMEPOINTS, straggler: STRAGGLER }
  await pipeline(Readable.from(linesOf(run)), createWriteStream(rows))
  const began = performance.now()
  const { mebibytes: peak } = report(rows, '--to', page)
  const seconds = (performance.now() - began) / 1000
  report(rows, '--output', 'json', '--to', found)
  const { findings }: FindingsDocument = JSON.parse(readFileSync(found, 'utf8'))
  const mebibytes = statSync(page).size / 2 ** 20
  print(
    `${pods} pods: ${mebibytes.toFixed(1)} MiB, made in ${seconds.toFixed(1)} s ` +
      `with a peak of ${peak.toFixed(0)} MiB of memory`,
  )
  for (const { sentence } of findings) print(`  ${sentence}`)
  return page
}

/** The seconds until a page has drawn its first screen, is complete, and shows its plots. */
interface OpeningTimes {
  readonly firstScreen: number
  readonly complete: number
  readonly plots: number
}

/** Opens a page and the topic of its plots. */
async function openingTimes(path: string): Promise<OpeningTimes> {
  const { open, close } = await launchBrowser()
  const began = performance.now()
  const { page } = await open(path, 'closed')
  const complete = (performance.now() - began) / 1000
  await page.evaluate("document.querySelector('#plots').open = true")
  await page.waitForSelector('#plots .plot >> visible=true')
  const plots = (performance.now() - began) / 1000
  const drawn = await page.evaluate(
    () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime,
  )
  await close()
  return { firstScreen: (drawn ?? Number.NaN) / 1000, complete, plots }
}

/** The most time for the first screen, as a part of the time until the plots are shown. */
const MAX_FIRST_SCREEN = 0.25

const [SMALL, LARGE] = [10, 100] as const
/** The most resident memory of the command for the report of a large log. */
const MAX_MEBIBYTES = 400
/** The most time for a megabyte of a large log, as a multiple of that of a small one. */
const MAX_GROWTH = 1.5

/** Returns the processor time in seconds and the memory in MiB for the report of a large log. */
async function measure(log: LargeLog, megabytes: number, format: 'html' | 'json') {
  const [file, to] = [join(folder, 'log'), join(folder, 'report')]
  await pipeline(Readable.from(largeLog(log, megabytes * 1e6)), createWriteStream(file))
  return report(file, '--output', format, '--to', to)
}

/** Prints a row of the table of large logs, and reports whether it is within the bounds. */
async function isBounded(log: LargeLog, format: 'html' | 'json'): Promise<boolean> {
  const small = await measure(log, SMALL, format)
  const large = await measure(log, LARGE, format)
  const growth = large.seconds / LARGE / (small.seconds / SMALL)
  const cells = [
    log.name.padEnd(26),
    format,
    `${(large.seconds / LARGE).toFixed(3)} s/MB`,
    `growth ${growth.toFixed(2)}`,
    `${small.mebibytes.toFixed(0)} MiB, ${large.mebibytes.toFixed(0)} MiB`,
  ]
  const isWithin = large.mebibytes <= MAX_MEBIBYTES && growth <= MAX_GROWTH
  print(`${cells.join('  ')}${isWithin ? '' : `  more than ${MAX_MEBIBYTES} MiB or ${MAX_GROWTH}`}`)
  return isWithin
}

const folder = mkdtempSync(join(tmpdir(), 'ridealong-bench-'))
try {
  for (const log of LARGE_LOGS.filter(({ name }) => name.includes(process.argv[2] ?? '')))
    for (const format of ['html', 'json'] as const)
      if (!(await isBounded(log, format))) process.exitCode = 1
  const pages = new Map<number, string>()
  for (const pods of SIZES) pages.set(pods, await pageOf(folder, pods))
  const times = new Map<number, OpeningTimes[]>(SIZES.map((pods) => [pods, []]))
  for (let round = 0; round < ROUNDS; round += 1)
    for (const [pods, path] of pages) times.get(pods)?.push(await openingTimes(path))
  const medianOf = (pods: number, name: keyof OpeningTimes) =>
    median((times.get(pods) ?? []).map((own) => own[name])) ?? Number.NaN
  for (const pods of SIZES) {
    const [first, complete, plots] = (['firstScreen', 'complete', 'plots'] as const).map((name) =>
      medianOf(pods, name).toFixed(2),
    )
    print(
      `${pods} pods: first screen in ${first} s, complete in ${complete} s, ` +
        `plots in ${plots} s, the medians of ${ROUNDS} rounds`,
    )
    const part = medianOf(pods, 'firstScreen') / medianOf(pods, 'plots')
    if (part > MAX_FIRST_SCREEN) process.exitCode = 1
    print(`  the first screen takes ${part.toFixed(2)} of the time until the plots are shown`)
  }
  const [small, large] = SIZES
  const ratio = (medianOf(large, 'plots') / medianOf(small, 'plots')).toFixed(2)
  print(`${large} pods take ${ratio} times as long as ${small} pods`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}

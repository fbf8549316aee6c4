import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { loadCatalog } from '../../src/catalog/load.ts'
import { printableJson } from '../../src/core/text/printable.ts'
import { writeWholeFile } from '../../src/lib/whole-file.ts'
import { cannotWrite } from '../../src/lib/write-error.ts'
import { cleanYaml } from '../../src/pods/manifest/print.ts'
import {
  coversIntervals,
  type Descriptions,
  descriptionsIn,
  listIntervalColumns,
} from '../../src/runs/log/descriptions.ts'
import { type ReportModel, reportModel, type Unit } from '../../src/runs/report/data.ts'
import { findingsDocument } from '../../src/runs/report/document/findings-document.ts'
import { formatReport } from '../../src/runs/report/first-screen/text.ts'
import { addTime, type CollectedRun, newRun } from '../../src/runs/report/gather.ts'
import { jsonParts } from '../../src/runs/report/json-parts.ts'
import { findWorkload } from '../../src/runs/report/observed-pods.ts'
import { describeRuns, findOneRun, type RunOptions, readRuns } from '../run-sources/named-runs.ts'
import { readInto } from '../run-sources/run-entries.ts'
import { mustBeOneRun, type NamedRun, readRunNames } from '../run-sources/run-names.ts'
import { EXIT, type ExitCode, UsageError, usageError } from '../shared/errors.ts'
import { namedFile } from '../shared/output.ts'
import { buildRunPage } from '../shared/page/run-page.ts'
import type { Session } from '../shared/session.ts'
import { formatText } from '../shared/table.ts'
import { formatOfFile, type ReportFormat } from './formats.ts'
import { writePage } from './page-file.ts'

export interface ReportOptions extends RunOptions {
  /** By default, text, or the format of the ending of `to`. */
  readonly output?: ReportFormat
  readonly to?: string
  /** Whether to replace a file that is not a page of the same run. */
  readonly force?: boolean
  /** Whether to open the page in a browser. */
  readonly open?: boolean
  readonly title?: string
  readonly by: Unit
  readonly column?: readonly string[]
}

/**
 * Runs `ridealong report RUN...`: prints what held a run up, and writes a page or a document with
 * all details.
 *
 * @returns the exit code: EXIT.no if a log of the run is missing
 * @throws UsageError with the file that cannot be read or written, or contains no output of an
 * observer, or with the catalog document or the name of a column that is invalid
 */
export async function report(
  words: readonly string[],
  options: ReportOptions,
  session: Session,
): Promise<ExitCode> {
  const named = readRunNames(words)
  mustBeOneRun(named, 'report')
  const target = chooseTarget(named, options)
  const { shown, code } = await readReport(named, options, session)
  await printReport(shown, target.printed, session)
  if (target.file === undefined) return code
  await writeReport(shown, { ...target, file: target.file }, options)
  session.say(`wrote ${target.file}`)
  if (options.open) await openPage(target.file, session)
  return code
}

async function readReport(
  named: readonly NamedRun[],
  options: ReportOptions,
  session: Session,
): Promise<{ readonly shown: ShownReport; readonly code: ExitCode }> {
  const { by, title, column = [], catalog: folder, observerImage } = options
  const catalog = await loadCatalog({ folder, observerImage }).catch(usageError)
  const descriptions = descriptionsIn(catalog)
  mustBeMeasured(column, descriptions)
  const run = newRun(descriptions, column)
  let [isRunning, isWhole] = [false, true]
  await readRuns(options, session, async (findRun) => {
    const input = await findOneRun(named, findRun)
    await readInto(run, input, session.say)
    addTime(run, input.time)
    isRunning = input.isRunning
    isWhole = input.isWhole
  })
  const model = reportModel(run, by, isRunning ? 'so far' : 'whole')
  const shown = { model, title: title ?? buildTitle(run), names: describeRuns(named) }
  return { shown, code: isWhole ? EXIT.ok : EXIT.no }
}

/** The format of the printed report, and the file to write with its format. */
interface Target {
  readonly printed: ReportFormat
  readonly file: string | undefined
  readonly format: ReportFormat
}

/** @throws UsageError if there is no page to open */
function chooseTarget(named: readonly NamedRun[], { output, to, open }: ReportOptions): Target {
  const file = namedFile(to ?? pageOf(named, output))
  const format = output ?? 'text'
  const target =
    file === undefined
      ? { printed: format, file, format }
      : { printed: 'text' as const, file, format: (to && output) || formatOfFile(file) }
  if (open && (target.file === undefined || target.format !== 'html'))
    throw new UsageError('--open needs a page: use --to FILE.html')
  return target
}

/** A report, and how it is shown. */
interface ShownReport {
  readonly model: ReportModel
  readonly title: string
  /** The names of the files that it is made from. */
  readonly names: string
}

async function printReport(
  report: ShownReport,
  format: ReportFormat,
  session: Session,
): Promise<void> {
  if (format === 'text') session.print({ text: formatReport(report.title, report.model) })
  else await session.printDocument(await documentParts(report, format))
}

async function writeReport(
  report: ShownReport,
  { file, format }: Target & { readonly file: string },
  { force = false }: ReportOptions,
): Promise<void> {
  if (format === 'html') return writePage(file, await documentParts(report, format), report, force)
  const parts =
    format === 'text'
      ? formatText(formatReport(report.title, report.model)).map((line) => `${line}\n`)
      : await documentParts(report, format)
  await writeWholeFile(file, parts).catch(cannotWrite(file)).catch(usageError)
}

async function documentParts(
  { model, title, names }: ShownReport,
  format: Exclude<ReportFormat, 'text'>,
): Promise<Iterable<string>> {
  switch (format) {
    case 'html':
      return buildRunPage(model, title, names)
    case 'json':
      return jsonDocument(findingsDocument(model, title))
    case 'yaml':
      return [cleanYaml(findingsDocument(model, title))]
  }
}

function* jsonDocument(document: object): Generator<string> {
  yield* jsonParts(document, { indent: '  ', quote: printableJson })
  yield '\n'
}

/** Returns the default page of a run of the cluster; undefined if there is none. */
function pageOf(
  [run]: readonly NamedRun[],
  output: ReportFormat | undefined = 'text',
): string | undefined {
  if (run?.from !== 'cluster' || output !== 'text') return undefined
  return `${run.name.split('/')[1]}.html`
}

/** Checks that each of the additional columns is one of those that are plotted on request. */
function mustBeMeasured(names: readonly string[], descriptions: Descriptions): void {
  const kinds = ['process', 'device'] as const
  const columns = kinds.flatMap((of) => listIntervalColumns(descriptions, of))
  const known = columns.flatMap(({ name, behavior }) => (behavior === undefined ? [] : name))
  const wrong = names.find((name) => !known.includes(name))
  if (wrong === undefined) return
  const metrics = [...descriptions].filter(([, rows]) => coversIntervals(rows))
  const measuring = metrics.map(([metric]) => metric).join(' and ')
  throw new UsageError(
    `${measuring} have no column ${wrong} to plot; their columns are ${known.join(', ')}`,
  )
}

/**
 * Builds the title from the owner and the namespace of the observed pods. Each of the two is part
 * of the title only if it is the same in all logs.
 */
function buildTitle(run: CollectedRun): string {
  const { owner, namespace } = findWorkload(run)
  return [owner ?? 'Observers', ...(namespace === null ? [] : [namespace])].join(' in ')
}

/** The programs that open a file with the user's browser. On other systems it is xdg-open. */
const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  darwin: ['open'],
  win32: ['explorer.exe'],
}

/**
 * Opens a page in the user's browser, and does not wait until it is closed. We do not use the
 * package `open`: it depends on ten other packages, which serve systems without this command.
 */
async function openPage(
  file: string,
  { environment, say }: Pick<Session, 'environment' | 'say'>,
): Promise<void> {
  const [program = '', ...words] = OPENERS[process.platform] ?? ['xdg-open']
  const child = spawn(program, [...words, resolve(file)], {
    env: environment,
    detached: true,
    stdio: 'ignore',
  })
  child.unref()
  try {
    await once(child, 'spawn')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    say(`cannot open ${file} in a browser: the program ${program} does not start (${code})`)
  }
}

import manifest from '../../package.json' with { type: 'json' }
import { loadCatalog } from '../../src/catalog/load.ts'
import { writeWholeFile } from '../../src/lib/whole-file.ts'
import { cannotWrite } from '../../src/lib/write-error.ts'
import { type ConvertedRun, convertRun } from '../../src/runs/convert/convert.ts'
import {
  describeEndings,
  type FormatName,
  formatOfFile,
  type OneFileFormat,
} from '../../src/runs/convert/format-names.ts'
import { NothingToConvert } from '../../src/runs/convert/formats.ts'
import { descriptionsIn } from '../../src/runs/log/descriptions.ts'
import { type CollectedRun, newRun } from '../../src/runs/report/gather.ts'
import { findOneRun, type RunOptions, readRuns } from '../run-sources/named-runs.ts'
import { type RunInput, readInto } from '../run-sources/run-entries.ts'
import { mustBeOneRun, readRunNames } from '../run-sources/run-names.ts'
import { EXIT, type ExitCode, UsageError, usageError } from '../shared/errors.ts'
import { namedFile } from '../shared/output.ts'
import type { Session } from '../shared/session.ts'
import { writeParquet } from './parquet.ts'

/** The program that the files name. */
const PROGRAM = `ridealong ${manifest.version}`

export interface ConvertOptions extends RunOptions {
  readonly format?: FormatName
  readonly to?: string
}

/**
 * Runs `ridealong convert RUN...`: writes the rows of a run in a format of other tools.
 *
 * @returns the exit code: EXIT.no if a log of a run is missing
 * @throws UsageError with the file that cannot be read or written, or contains no output of an
 * observer, or with the formats if the format is not known, or with the metric that the format
 * needs
 */
export async function convert(
  words: readonly string[],
  options: ConvertOptions,
  session: Session,
): Promise<ExitCode> {
  const named = readRunNames(words)
  mustBeOneRun(named, 'convert')
  const target = namedFile(options.to)
  const format = options.format ?? formatIn(target)
  return readRuns(options, session, async (findRun) => {
    const input = await findOneRun(named, findRun)
    await writeConverted(input, { target, format }, options, session)
    return input.isWhole ? EXIT.ok : EXIT.no
  })
}

/** The format, and the file or the folder; standard output if it is undefined. */
interface Conversion {
  readonly target: string | undefined
  readonly format: FormatName
}

async function writeConverted(
  input: RunInput,
  { target, format }: Conversion,
  { catalog: folder, observerImage }: ConvertOptions,
  { printDocument, say }: Session,
): Promise<void> {
  const catalog = await loadCatalog({ folder, observerImage }).catch(usageError)
  const descriptions = descriptionsIn(catalog)
  if (format === 'parquet') {
    const notices = await writeParquet(input, descriptions, { program: PROGRAM, to: target, say })
    return notices.forEach(say)
  }
  const run = newRun(descriptions)
  await readInto(run, input, say)
  const { parts, notices } = convertOrExplain(run, format)
  if (target === undefined) await printDocument(parts)
  else await writeWholeFile(target, parts).catch(cannotWrite(target)).catch(usageError)
  notices.forEach(say)
}

function formatIn(file: string | undefined): FormatName {
  if (file === undefined)
    throw new UsageError('the format is not known: use --format, or --to with the name of a file')
  const format = formatOfFile(file)
  if (format !== undefined) return format
  const endings = `use --format, or one of the endings ${describeEndings()}`
  throw new UsageError(`the ending of ${file} stands for no format: ${endings}`)
}

function convertOrExplain(run: CollectedRun, format: OneFileFormat): ConvertedRun {
  try {
    return convertRun(run, format, PROGRAM)
  } catch (error) {
    if (!(error instanceof NothingToConvert)) throw error
    throw new UsageError(`cannot convert the run to ${format}: ${error.message}`)
  }
}

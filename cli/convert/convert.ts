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
import { findRunFiles, type RowsOptions } from '../archive/storage/stored-run-files.ts'
import { UsageError, usageError } from '../shared/errors.ts'
import { namedFile } from '../shared/output.ts'
import { type InputFile, readInto } from '../shared/run-input.ts'
import type { Session } from '../shared/session.ts'
import { writeParquet } from './parquet.ts'

/** The program that the files name. */
const PROGRAM = `ridealong ${manifest.version}`

export interface ConvertOptions extends RowsOptions {
  readonly format?: FormatName
  readonly to?: string
  readonly catalog?: string
}

/**
 * Runs `ridealong convert FILE...`: writes the rows of a run in a format of other tools.
 *
 * @throws UsageError with the file that cannot be read or written, or contains no output of an
 * observer, or with the formats if the format is not known, or with the metric that the format
 * needs
 */
export async function convert(
  inputs: readonly string[],
  { format: named, to, catalog: folder, ...rows }: ConvertOptions,
  session: Session,
): Promise<void> {
  const { printDocument, say } = session
  const file = namedFile(to)
  const format = named ?? formatIn(file)
  const descriptions = descriptionsIn(await loadCatalog({ folder }).catch(usageError))
  const files: InputFile[] = []
  for (const input of inputs) files.push(...(await findRunFiles(input, rows, session)))
  if (format === 'parquet') {
    const notices = await writeParquet(files, descriptions, PROGRAM, file)
    return notices.forEach(say)
  }
  const run = newRun(descriptions)
  for (const path of files) await readInto(run, path)
  const { parts, notices } = convertOrExplain(run, format)
  if (file === undefined) await printDocument(parts)
  else await writeWholeFile(file, parts).catch(cannotWrite(file)).catch(usageError)
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

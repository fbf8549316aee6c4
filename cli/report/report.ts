import { basename } from 'node:path'
import { loadCatalog } from '../../src/catalog/load.ts'
import { printableJson } from '../../src/core/text/printable.ts'
import { writeWholeFile } from '../../src/lib/whole-file.ts'
import { cannotWrite } from '../../src/lib/write-error.ts'
import {
  type Descriptions,
  descriptionsIn,
  METRIC_OF_FORMAT,
  sysstatSection,
} from '../../src/runs/log/descriptions.ts'
import type { Unit } from '../../src/runs/report/data.ts'
import {
  type FindingsDocument,
  findingsDocument,
} from '../../src/runs/report/document/findings-document.ts'
import { type CollectedRun, newRun } from '../../src/runs/report/gather.ts'
import { jsonParts } from '../../src/runs/report/json-parts.ts'
import { findRunFiles, type RowsOptions } from '../archive/storage/stored-run-files.ts'
import { UsageError, usageError } from '../shared/errors.ts'
import { namedFile } from '../shared/output.ts'
import { buildRunPage } from '../shared/page/run-page.ts'
import { readInto } from '../shared/run-input.ts'
import type { Session } from '../shared/session.ts'

/** The formats of a report: a page for people, the findings for programs. */
export type ReportFormat = 'html' | 'json'

export interface ReportOptions extends RowsOptions {
  readonly output: ReportFormat
  readonly to?: string
  readonly title?: string
  readonly by: Unit
  readonly catalog?: string
  readonly column?: readonly string[]
}

/**
 * Runs `ridealong report FILE...`: writes one HTML page, or its content as JSON, from collected
 * JSON Lines and observers' logs.
 *
 * @throws UsageError with the file that cannot be read or written, or contains no output of an
 * observer, or with the catalog document or the name of a column that is invalid
 */
export async function report(
  files: readonly string[],
  { output, to, title, by, catalog: folder, column = [], ...rows }: ReportOptions,
  session: Session,
): Promise<void> {
  const descriptions = descriptionsIn(await loadCatalog({ folder }).catch(usageError))
  mustBeMeasured(column, descriptions)
  const run = newRun(descriptions, column)
  for (const input of files)
    for (const file of await findRunFiles(input, rows, session)) await readInto(run, file)
  const words = title ?? buildTitle(run)
  const names = files.map((file) => basename(file)).join(', ')
  const document =
    output === 'json'
      ? documentParts(findingsDocument(run, words, by))
      : await buildRunPage(run, words, by, names)
  const file = namedFile(to)
  if (file === undefined) await session.printDocument(document)
  else await writeWholeFile(file, document).catch(cannotWrite(file)).catch(usageError)
}

function* documentParts(document: FindingsDocument): Generator<string> {
  yield* jsonParts(document, { indent: '  ', quote: printableJson })
  yield '\n'
}

/** Checks that perf-sysstat or io-sysstat measures each of the additional columns. */
function mustBeMeasured(names: readonly string[], descriptions: Descriptions): void {
  const formats = ['pidstat', 'iostat'] as const
  const sections = formats.map((format) => sysstatSection(descriptions, format, null))
  const columns = sections.flatMap((section) => section?.columns ?? [])
  const known = columns.flatMap(({ name, behavior }) => (behavior === undefined ? [] : name))
  const wrong = names.find((name) => !known.includes(name))
  if (wrong === undefined) return
  const metrics = Object.values(METRIC_OF_FORMAT).join(' and ')
  throw new UsageError(
    `${metrics} have no column ${wrong} to plot; their columns are ${known.join(', ')}`,
  )
}

/**
 * Builds the title from the owner and the namespace of the observed pods. Each of the two is part
 * of the title only if it is the same in all logs.
 */
function buildTitle({ sources }: CollectedRun): string {
  const all = [...sources.values()]
  const owners = new Set(all.map(({ log }) => log?.metadata.owner))
  const namespaces = new Set(all.map(({ place }) => place.namespace))
  const [owner] = owners
  const [namespace] = namespaces
  if (owners.size === 1 && typeof owner === 'string')
    return namespaces.size === 1 && namespace ? `${owner} in ${namespace}` : owner
  return namespaces.size === 1 && namespace ? `Observers in ${namespace}` : 'Observers'
}

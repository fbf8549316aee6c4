import type { RowColumn, RowSection, RowsDescription } from '../../core/catalog.ts'
import { asFields, asText, type Fields, parseFields } from '../../core/kubernetes/json.ts'
import { quote } from '../../core/text/quote.ts'
import { readArtifact } from './artifact.ts'
import { isCell } from './cell.ts'
import { type Cell, ownInterval, type RowCells } from './columns.ts'

/** A line of a log in JSON Lines, compared with the description of its metric's rows. */
export type MatchedLine =
  | {
      readonly kind: 'row'
      readonly section: RowSection
      /** When the row was taken, in milliseconds since 1970. */
      readonly at: number
      /** The seconds that the row is about; undefined if the row does not give them. */
      readonly interval: number | undefined
      readonly cells: RowCells
      /** The fields of the line that the description lacks. Their values are ignored. */
      readonly undescribed: readonly string[]
    }
  | { readonly kind: 'notice'; readonly notice: string }
  /** A line about a raw file, which only `collect --output artifacts` reads. */
  | { readonly kind: 'artifact' }
  | {
      readonly kind: 'unmatched'
      readonly reason: string
      /** Whether the line is not a JSON object. The last line of a cut log may be such a line. */
      readonly isBroken: boolean
    }

/** A date and a time with an offset from UTC, in ISO 8601 (RFC 3339). */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/

/**
 * Reads a line of a log in JSON Lines: an object with a notice, about a raw file, or with the time,
 * the section, the interval and the cells of a row. The interval may be missing, and the section if
 * the description has only one section. A missing cell is null.
 *
 * A field that the description lacks is ignored, so that logs stay readable if another version of
 * their metric has other columns. A line with no other fields is not a row of the section.
 */
export function matchRow(line: string, { sections }: RowsDescription): MatchedLine {
  const row = parseFields(line)
  if (row === undefined) return unmatched('it is not a JSON object', true)
  const { time, section: named, notice } = row
  const artifact = asFields(row.artifact)
  if (artifact !== undefined) return matchArtifact(artifact)
  if (typeof notice === 'string') return { kind: 'notice', notice }
  const at = TIME.test(asText(time) ?? '') ? Date.parse(String(time)) : Number.NaN
  if (!Number.isFinite(at))
    return unmatched('its time is not a date and time such as 2026-01-31T10:00:00.123Z')
  const section = findSection(sections, named)
  if (section === undefined) return unmatched(sectionProblem(named, sections))
  const read = readCells(section, row)
  if (typeof read === 'string') return unmatched(read)
  return { kind: 'row', section, at, interval: ownInterval(row), ...read }
}

function matchArtifact(artifact: Fields): MatchedLine {
  const read = readArtifact(artifact)
  return typeof read === 'string' ? unmatched(`artifact: ${read}`) : { kind: 'artifact' }
}

function findSection(sections: readonly RowSection[], named: unknown): RowSection | undefined {
  if (named === undefined && sections.length === 1) return sections[0]
  return sections.find(({ name }) => name === named)
}

function unmatched(reason: string, isBroken = false): MatchedLine {
  return { kind: 'unmatched', reason, isBroken }
}

function sectionProblem(named: unknown, sections: readonly RowSection[]): string {
  const known = sections.map(({ name }) => name).join(', ')
  const found = named === undefined ? 'it names no section' : `its section is ${shown(named)}`
  return `${found}; the sections are ${known}`
}

/** The fields of a row that are not cells. */
const OTHER_FIELDS: ReadonlySet<string> = new Set(['time', 'section', 'notice', 'interval'])

/**
 * Returns the cells of a row and the fields without a column, or a sentence about a field that is
 * not valid.
 */
function readCells({ name, columns }: RowSection, row: Fields) {
  const cells: Record<string, Cell> = {}
  for (const column of columns) {
    const value = Object.hasOwn(row, column.name) ? row[column.name] : null
    if (!isCell(column, value)) return wrongType(column)
    cells[column.name] = value
  }
  const undescribed = Object.keys(row).filter((field) => {
    return !(Object.hasOwn(cells, field) || OTHER_FIELDS.has(field))
  })
  const isRow =
    undescribed.length === 0 || columns.some((column) => Object.hasOwn(row, column.name))
  return isRow ? { cells, undescribed } : `section ${name} has no column ${shown(undescribed[0])}`
}

function wrongType({ name, type }: RowColumn): string {
  return `column ${name} must be a ${type === 'text' ? 'string' : 'number'} or null`
}

function shown(value: unknown): string {
  return quote(asText(value) ?? JSON.stringify(value))
}

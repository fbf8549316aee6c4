import type { RowSection, RowsDescription } from '../../core/catalog.ts'
import { asFields, asText, type Fields, parseFields } from '../../core/kubernetes/json.ts'
import { quote } from '../../core/text/quote.ts'
import { readArtifact } from './artifact.ts'
import { isCell, plainCells } from './cell.ts'
import type { Cell, RowCells } from './columns.ts'

/** A line of a log in JSON Lines, compared with the description of its metric's rows. */
export type MatchedLine =
  | {
      readonly kind: 'row'
      readonly section: RowSection
      /** When the row was taken, in milliseconds since 1970. */
      readonly at: number
      readonly cells: RowCells
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
 * the section and the cells of a row. The section may be missing if the description has only one
 * section. A missing cell is null.
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
  const cells = readCells(section, row)
  if (typeof cells === 'string') return unmatched(cells)
  return { kind: 'row', section, at, cells }
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

/** Returns the cells of a row, or a sentence about a cell that is not valid. */
function readCells(section: RowSection, row: Fields): RowCells | string {
  return validCells(section, row) ?? cellProblem(section, row) ?? plainCells(section, row)
}

/**
 * Returns the cells of a row if each of its fields has a column and a value of the column's type.
 * It looks at each column once, because a log has many rows.
 */
function validCells({ columns }: RowSection, row: Fields): RowCells | undefined {
  const cells: Record<string, Cell> = {}
  let known = row.section === undefined ? 1 : 2
  for (const column of columns) {
    const value = row[column.name] ?? null
    if (!isCell(column, value)) return undefined
    if (row[column.name] !== undefined) known += 1
    cells[column.name] = value
  }
  return known === Object.keys(row).length ? cells : undefined
}

/** Returns a sentence about the first cell that has no column, or another type than its column. */
function cellProblem({ name, columns }: RowSection, row: Fields): string | undefined {
  const { time, section, notice, ...cells } = row
  for (const [key, value] of Object.entries(cells)) {
    const column = columns.find((one) => one.name === key)
    if (column === undefined) return `section ${name} has no column ${shown(key)}`
    if (!isCell(column, value))
      return `column ${key} must be a ${column.type === 'text' ? 'string' : 'number'} or null`
  }
  return undefined
}

function shown(value: unknown): string {
  return quote(asText(value) ?? JSON.stringify(value))
}

import { stringify } from 'csv-stringify/sync'
import { printable, printableJson } from '../core/text/printable.ts'
import { COLUMNS } from './columns.ts'
import type { Entry } from './entry.ts'

/**
 * Formats the entries as JSON Lines: one line per sample, and a line of the kind `log` at the end
 * of each log.
 */
export function jsonLines(entries: readonly Entry[]): string {
  return entries.map((entry) => `${printableJson(entry)}\n`).join('')
}

const NAMES = Object.keys(COLUMNS)

/** The header of the CSV; the columns are always the same. */
export const CSV_HEADER = stringify([NAMES])

/**
 * Formats the samples among the entries as CSV (RFC 4180, but with LF instead of CRLF, as the
 * readers of pidstat's output expect). Users choose the names of programs, so text that a
 * spreadsheet would read as a formula gets a leading single quote, and nonprintable characters are
 * escaped.
 */
export function csvLines(entries: readonly Entry[]): string {
  const samples = entries.filter(({ kind }) => kind !== 'log')
  return stringify(samples, {
    columns: NAMES,
    escape_formulas: true,
    cast: { string: (text) => printable(text) },
  })
}

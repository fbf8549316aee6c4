import { stringify } from 'csv-stringify/sync'
import { printable, printableJson } from '../core/text/printable.ts'
import { COLUMNS } from './columns.ts'
import type { Entry } from './entry.ts'

/** The entries as JSON Lines: every sample, and a line of the kind `log` at the end of each log. */
export function jsonLines(entries: readonly Entry[]): string {
  return entries.map((entry) => `${printableJson(entry)}\n`).join('')
}

const NAMES = Object.keys(COLUMNS)

/** The header of the CSV: the same columns always. */
export const CSV_HEADER = stringify([NAMES])

/**
 * The samples among the entries as CSV (RFC 4180, but with line feeds alone as pidstat's readers
 * have them). Programs name themselves as they like: text that a spreadsheet would take for a formula
 * gets a quote in front, and characters that are not printable are escaped.
 */
export function csvLines(entries: readonly Entry[]): string {
  const samples = entries.filter(({ kind }) => kind !== 'log')
  return stringify(samples, {
    columns: NAMES,
    escape_formulas: true,
    cast: { string: (text) => printable(text) },
  })
}

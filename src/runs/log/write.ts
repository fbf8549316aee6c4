import { stringify } from 'csv-stringify/sync'
import { printable, printableJson } from '../../core/text/printable.ts'
import { type Entry, isSample } from './entry.ts'

/**
 * Formats the entries as JSON Lines, one line for each entry: the samples, the lines of a log that
 * do not match the description of its metric (kind `unmatched`), and the description of each log
 * (kind `log`).
 */
export function jsonLines(entries: readonly Entry[]): string {
  return entries.map((entry) => `${printableJson(entry)}\n`).join('')
}

/** Formats the header of a CSV with these columns. */
export function csvHeader(columns: readonly string[]): string {
  return stringify([columns])
}

/**
 * The maximum length of a text in a CSV. A stack of functions can have 8 KiB, and its end names the
 * function that ran.
 */
const MAX_CELL_LENGTH = 65_536

/**
 * Formats the samples among the entries as CSV (RFC 4180, but with LF instead of CRLF, as the
 * readers of pidstat's output expect). Users choose the names of programs, so text that a
 * spreadsheet would read as a formula gets a leading single quote, and nonprintable characters are
 * escaped.
 *
 * @param columns the names of the columns in their order
 */
export function csvLines(entries: readonly Entry[], columns: readonly string[]): string {
  return stringify(entries.filter(isSample), {
    columns,
    escape_formulas: true,
    cast: { string: (text) => printable(text, MAX_CELL_LENGTH) },
  })
}

import { matchRow } from '../../src/runs/log/match-row.ts'
import { BUILT_IN_ROWS } from '../src/runs/log/built-in.ts'
import type { Running } from './pod.ts'
import type { Row } from './prerequisites.ts'

/** Returns the rows of a section in a log in JSON Lines. */
export function rowsOf({ log }: Pick<Running, 'log'>, section: string): readonly Row[] {
  return jsonOf(log()).filter((row) => row.section === section)
}

/** Returns the texts of the notices in a log in JSON Lines. */
export function noticesOf({ log }: Running): readonly string[] {
  return jsonOf(log()).flatMap(({ notice }) => (typeof notice === 'string' ? [notice] : []))
}

/**
 * Returns the lines that do not match the description of the metric's rows, with the reasons, and
 * those with a field that the description lacks.
 */
export function mismatchesIn({ log }: Running, metric: string): readonly string[] {
  const description = BUILT_IN_ROWS.get(metric)
  if (description === undefined) throw new Error(`the catalog does not describe rows of ${metric}`)
  return linesIn(log()).flatMap((line) => {
    const matched = matchRow(line, description)
    if (matched.kind === 'unmatched') return [`${matched.reason}: ${line}`]
    return matched.kind === 'row' ? matched.undescribed.map((field) => `${field}: ${line}`) : []
  })
}

/** @throws SyntaxError if a line is not JSON */
function jsonOf(log: string): readonly Row[] {
  return linesIn(log).map((line) => JSON.parse(line))
}

/** Returns the lines between the markers. The last line is skipped if it is not complete. */
function linesIn(log: string): readonly string[] {
  const [, begun = ''] = log.split('METRICS OPERATOR COLLECTION START\n')
  const [rows = ''] = begun.split('METRICS OPERATOR COLLECTION END')
  const lines = rows.slice(0, rows.lastIndexOf('\n') + 1).split('\n')
  return lines.filter((line) => line !== '')
}

import type { Running } from './pod.ts'
import type { Row } from './prerequisites.ts'

/** Returns the rows of a section in a log in JSON Lines. */
export function rowsOf({ log }: Running, section: string): readonly Row[] {
  return jsonOf(log()).filter((row) => row.section === section)
}

/** Returns the texts of the notices in a log in JSON Lines. */
export function noticesOf({ log }: Running): readonly string[] {
  return jsonOf(log()).flatMap(({ notice }) => (typeof notice === 'string' ? [notice] : []))
}

/**
 * Parses the lines between the markers of a log. The last line is skipped if it is not complete.
 *
 * @throws SyntaxError if a line is not JSON
 */
function jsonOf(log: string): readonly Row[] {
  const [, begun = ''] = log.split('METRICS OPERATOR COLLECTION START\n')
  const [rows = ''] = begun.split('METRICS OPERATOR COLLECTION END')
  const lines = rows.slice(0, rows.lastIndexOf('\n') + 1).split('\n')
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line))
}

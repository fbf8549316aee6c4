import { formatText } from '../src/cli/shared/table.ts'
import type { Output } from '../src/lib/output-format.ts'

/** The lines for people, as they are printed in a terminal of a width; by default, not wrapped. */
export function linesOf(output: Output, width?: number): readonly string[] {
  if ('text' in output) return formatText(output.text, width)
  if (!('lines' in output)) throw new Error('the output is no text')
  return output.lines
}

/** The document for programs. */
export function documentOf(output: Output): string {
  if (!('document' in output)) throw new Error('the output is no document')
  return output.document
}

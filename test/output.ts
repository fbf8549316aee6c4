import { formatText } from '../cli/shared/table.ts'
import type { Output } from '../src/lib/output-format.ts'

/**
 * Returns the lines of an output for people. With a width, tables are wrapped for a terminal of
 * this width.
 *
 * @throws if the output is a document
 */
export function linesOf(output: Output, width?: number): readonly string[] {
  if ('text' in output) return formatText(output.text, { width })
  if (!('lines' in output)) throw new Error('the output is not a text')
  return output.lines
}

/**
 * Returns the document of an output for programs.
 *
 * @throws if the output is no document
 */
export function documentOf(output: Output): string {
  if (!('document' in output)) throw new Error('the output is not a document')
  return output.document
}

import type { Output } from '../src/lib/output-format.ts'

/** Returns the lines that a verb prints for users. */
export function linesOf(output: Output): readonly string[] {
  if ('lines' in output) return output.lines
  throw new Error('these are no lines')
}

/** Returns the document that a verb prints for programs. */
export function documentOf(output: Output): string {
  if ('document' in output) return output.document
  throw new Error('this is no document')
}

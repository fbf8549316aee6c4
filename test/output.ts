import type { Output } from '../src/lib/output-format.ts'

/** The lines for people of what a verb prints. */
export function linesOf(output: Output): readonly string[] {
  if ('lines' in output) return output.lines
  throw new Error('these are no lines')
}

/** The document for programs of what a verb prints. */
export function documentOf(output: Output): string {
  if ('document' in output) return output.document
  throw new Error('this is no document')
}

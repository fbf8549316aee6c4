/**
 * An error that a user can fix in a manifest. The message names the file, the document and the
 * line.
 */
export class ManifestError extends Error {
  override readonly name = 'ManifestError'
}

/** A position in a manifest. Documents and lines are numbered from 1. */
export interface ManifestPosition {
  readonly file: string
  readonly document: number
  readonly line: number
}

/** Prefixes a message with a position, in the format of compilers and linters. */
export function at({ file, document, line }: ManifestPosition, sentence: string): string {
  return `${file}: document ${document}, line ${line}: ${sentence}`
}

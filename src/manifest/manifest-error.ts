/** What a person can mend in a manifest: the sentence names the file, the document and the line. */
export class ManifestError extends Error {
  override readonly name = 'ManifestError'
}

/** Where something is: the first document of a file, and its first line, are 1. */
export interface ManifestPosition {
  readonly file: string
  readonly document: number
  readonly line: number
}

/** A sentence about a place, as compilers and linters write it. */
export function at({ file, document, line }: ManifestPosition, sentence: string): string {
  return `${file}: document ${document}, line ${line}: ${sentence}`
}

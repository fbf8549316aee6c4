import type { Printer } from './output.ts'

/** The result of a verb that edits manifests, and a note for each object that it did not change. */
export interface ManifestOutput {
  readonly output: string
  readonly notes: readonly string[]
}

/**
 * Prints the documents to standard output and the notes to standard error, since the documents may
 * be piped to kubectl.
 */
export function printManifests({ output, notes }: ManifestOutput, { print, say }: Printer): void {
  for (const note of notes) say(note)
  print({ document: output })
}

import type { Manifest } from './read.ts'

/** Text to be put in the place of other text. What no edit names stays as it is, byte for byte. */
export interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
  /** How deep in the document the edit belongs: at one place the deeper comes first. */
  readonly depth: number
}

/**
 * Applies edits to a text. One that is there twice, as where two places share an anchor, is made once.
 *
 * @throws Error where two edits overlap
 */
export function edited(text: string, edits: readonly Edit[]): string {
  const once = new Map(edits.map((edit) => [JSON.stringify(edit), edit]))
  const ordered = [...once.values()].sort((a, b) => a.start - b.start || b.depth - a.depth)
  const parts: string[] = []
  let reached = 0
  for (const { start, end, text: put } of ordered) {
    if (start < reached) throw new Error(`edits overlap at ${start}`)
    parts.push(text.slice(reached, start), put)
    reached = end
  }
  return [...parts, text.slice(reached)].join('')
}

/** A document's own text with edits, whose offsets are those of the whole file. */
export function editedDocument({ text, start, end }: Manifest, edits: readonly Edit[]): string {
  const own = edits.map((edit) => ({ ...edit, start: edit.start - start, end: edit.end - start }))
  return edited(text.slice(start, end), own)
}

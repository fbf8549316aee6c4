import type { Manifest } from './read.ts'

/** A replacement for a part of a text. The rest of the text is unchanged, byte for byte. */
export interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
  /**
   * The depth of the edit in the document. Of two edits at the same offset, the deeper edit is
   * applied first.
   */
  readonly depth: number
}

/**
 * Applies edits to a text. Duplicate edits, which occur if two places share an anchor, are applied
 * once.
 *
 * @throws Error if two edits overlap
 */
function edited(text: string, edits: readonly Edit[]): string {
  const once = new Map(edits.map((edit) => [JSON.stringify(edit), edit]))
  const ordered = [...once.values()].sort((a, b) => a.start - b.start || b.depth - a.depth)
  const parts: string[] = []
  let reached = 0
  for (const { start, end, text: put } of ordered) {
    if (start < reached) throw new Error(`edits overlap at offset ${start}`)
    parts.push(text.slice(reached, start), put)
    reached = end
  }
  return [...parts, text.slice(reached)].join('')
}

/**
 * Returns the text of a document with edits applied. The offsets of the edits are relative to the
 * whole file.
 */
export function editedDocument({ text, start, end }: Manifest, edits: readonly Edit[]): string {
  const own = edits.map((edit) => ({ ...edit, start: edit.start - start, end: edit.end - start }))
  return edited(text.slice(start, end), own)
}

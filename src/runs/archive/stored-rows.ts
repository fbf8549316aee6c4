import { printable } from '../../core/text/printable.ts'

/** The stored rows of a run, as its object Run describes them. */
export interface StoredRows {
  /** The folder, below the root of the storage; null if there are no rows. */
  readonly path: string | null
  /** Whether the folder has the page of the report. */
  readonly hasPage: boolean
  /** The logs whose rows are in the folder, and the logs of all observers that have started. */
  readonly logs: { readonly stored: number; readonly expected: number }
  /** Why rows are missing or are not whole: whole sentences. */
  readonly missing: readonly string[]
  /** The number of such sentences that are left out. */
  readonly omitted: number
}

const MAX_SENTENCES = 6
const MAX_SENTENCE_LENGTH = 200

/** Escapes and shortens the sentences: users of pods can write the texts in them. */
export function limitRows(rows: Omit<StoredRows, 'omitted'>): StoredRows {
  const missing = rows.missing.slice(0, MAX_SENTENCES)
  return {
    ...rows,
    missing: missing.map((sentence) => printable(sentence, MAX_SENTENCE_LENGTH)),
    omitted: rows.missing.length - missing.length,
  }
}

/** How a result is printed: for people, or for programs. */
export const OUTPUT_FORMATS = ['text', 'json', 'yaml'] as const
export type OutputFormat = (typeof OUTPUT_FORMATS)[number]

/**
 * What a verb prints: lines for people, each of which is made printable; the lines of a difference,
 * which are coloured as well; or a document for programs, which only a terminal gets made printable.
 */
export type Output =
  | { readonly lines: readonly string[] }
  | { readonly diff: readonly string[] }
  | { readonly document: string }

/** The formats in which a result is printed: text for people, JSON and YAML for programs. */
export const OUTPUT_FORMATS = ['text', 'json', 'yaml'] as const
export type OutputFormat = (typeof OUTPUT_FORMATS)[number]

/**
 * The output of a command: lines for people, in which unprintable characters are escaped; the lines
 * of a diff, which are also coloured; or a document for programs, which is escaped only if it is
 * written to a terminal.
 */
export type Output =
  | { readonly lines: readonly string[] }
  | { readonly diff: readonly string[] }
  | { readonly document: string }

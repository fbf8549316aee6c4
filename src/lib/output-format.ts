/** The formats in which a result is printed: text for people, JSON and YAML for programs. */
export const OUTPUT_FORMATS = ['text', 'json', 'yaml'] as const
export type OutputFormat = (typeof OUTPUT_FORMATS)[number]

/**
 * The output of a command: lines for people, in which unprintable characters are escaped; the lines
 * of a diff, which are also coloured; paragraphs and tables for people, which are also wrapped to
 * the width of a terminal; or a document for programs, which is escaped only if it is written to a
 * terminal.
 */
export type Output =
  | { readonly lines: readonly string[] }
  | { readonly diff: readonly string[] }
  | { readonly text: readonly TextBlock[] }
  | { readonly document: string }

/** A paragraph, or the rows of a table whose columns are aligned. An empty paragraph is a gap. */
export type TextBlock = TextCell | TextTable

export interface TextTable {
  /** Each row has the same number of cells. Text in the last column is wrapped below itself. */
  readonly rows: readonly (readonly TextCell[])[]
  /** The number of blanks before the first column. */
  readonly indent: number
}

/** A text, and its meaning, which is shown as a colour. */
export type TextCell = string | { readonly text: string; readonly tone: Tone }

export type Tone = 'heading' | 'good' | 'bad' | 'doubtful' | 'minor'

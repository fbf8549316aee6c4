/** The formats in which a result is printed: text for people, JSON and YAML for programs. */
export const OUTPUT_FORMATS = ['text', 'json', 'yaml'] as const
export type OutputFormat = (typeof OUTPUT_FORMATS)[number]

/**
 * The output of a command:
 * - `lines`: lines for people, in which unprintable characters are escaped.
 * - `diff`: the lines of a diff, which are escaped and also coloured.
 * - `text`: paragraphs and tables for people, which are escaped and wrapped to the width of a
 *   terminal.
 * - `document`: a document for programs, which is escaped only if it is written to a terminal.
 */
export type Output =
  | { readonly lines: readonly string[] }
  | { readonly diff: readonly string[] }
  | { readonly text: readonly TextBlock[] }
  | { readonly document: string }

/** A paragraph, or a table with aligned columns. An empty paragraph is printed as an empty line. */
export type TextBlock = TextCell | TextTable

export interface TextTable {
  /** Each row has the same number of cells. Only text in the last column is wrapped. */
  readonly rows: readonly (readonly TextCell[])[]
  /** The number of blanks before the first column. */
  readonly indent: number
  /** Whether the first row has the titles of the columns. */
  readonly hasTitles?: boolean
}

/** A text, and optionally its tone, which is shown as a colour. */
export type TextCell = string | { readonly text: string; readonly tone: Tone }

export type Tone = 'heading' | 'good' | 'bad' | 'doubtful' | 'minor'

import { stringify } from 'yaml'

/** How the text around an addition is written, so that it is written alike. */
export interface Style {
  readonly form: 'block' | 'flow' | 'json'
  /** The line break of the file. */
  readonly eol: '\n' | '\r\n'
  /** Blanks of a level of JSON that stands on lines of its own. */
  readonly unit: string
  /** Whether dashes stand deeper than the key that they belong to. */
  readonly indentsLists: boolean
}

/** Words that YAML 1.1 takes for something else than text stay in quotes; no line is folded. */
const YAML = {
  version: '1.1',
  lineWidth: 0,
  aliasDuplicateObjects: false,
  blockQuote: false,
  doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER,
} as const

/** A value as lines of block YAML, from the first column. */
export function blockLines(value: unknown, { indentsLists }: Style): readonly string[] {
  return stringify(value, { ...YAML, indentSeq: indentsLists })
    .slice(0, -1)
    .split('\n')
}

/** A value on one line, in braces or brackets; what is undefined is left out. */
export function inlineText(value: unknown, { form }: Style): string {
  return form === 'json' ? JSON.stringify(value) : flowText(value)
}

/** A key and its value on one line. */
export function inlinePair(key: string, value: unknown, style: Style): string {
  const text = inlineText(value, style)
  return style.form === 'json' ? `${JSON.stringify(key)}: ${text}` : `${scalarText(key)}: ${text}`
}

/** A value of JSON on lines of its own, the first of which stands behind something. */
export function jsonLines(value: unknown, style: Style, indent: string): string {
  return JSON.stringify(value, undefined, style.unit).replaceAll('\n', `${style.eol}${indent}`)
}

function flowText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flowText).join(', ')}]`
  if (typeof value !== 'object' || value === null) return scalarText(value)
  const pairs = Object.entries(value).filter(([, inner]) => inner !== undefined)
  return `{${pairs.map(([key, inner]) => `${scalarText(key)}: ${flowText(inner)}`).join(', ')}}`
}

/** A scalar that is the same inside braces as outside: without the signs that end one there. */
function scalarText(value: unknown): string {
  const text = stringify(value, YAML).slice(0, -1)
  const isQuoted = /^["']/.test(text)
  return typeof value === 'string' && !isQuoted && /[[\]{},#&*!|>%@`?]|: |:$/.test(text)
    ? JSON.stringify(value)
    : text
}

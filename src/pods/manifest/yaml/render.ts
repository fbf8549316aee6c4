import { stringify } from 'yaml'

/** The style of the text around an addition. The addition is formatted in the same style. */
export interface Style {
  readonly form: 'block' | 'flow' | 'json'
  /** The line break of the file. */
  readonly eol: '\n' | '\r\n'
  /** The indentation of one level of multi-line JSON. */
  readonly unit: string
  /** Whether the dashes of a list are indented more than the key of the list. */
  readonly indentsLists: boolean
}

/**
 * The options for YAML. Strings that YAML 1.1 would read as another type are quoted, and no line is
 * folded.
 */
const YAML = {
  version: '1.1',
  lineWidth: 0,
  aliasDuplicateObjects: false,
  blockQuote: false,
  doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER,
} as const

/** Formats a value as lines of block YAML, without indentation. */
export function blockLines(value: unknown, { indentsLists }: Style): readonly string[] {
  return stringify(value, { ...YAML, indentSeq: indentsLists })
    .slice(0, -1)
    .split('\n')
}

/** Formats a value on one line, in braces or brackets. Undefined fields are omitted. */
export function inlineText(value: unknown, { form }: Style): string {
  return form === 'json' ? JSON.stringify(value) : flowText(value)
}

/** Formats a key and its value on one line. */
export function inlinePair(key: string, value: unknown, style: Style): string {
  const text = inlineText(value, style)
  return style.form === 'json' ? `${JSON.stringify(key)}: ${text}` : `${scalarText(key)}: ${text}`
}

/** Formats a value as multi-line JSON. The first line follows existing text and is not indented. */
export function jsonLines(value: unknown, style: Style, indent: string): string {
  return JSON.stringify(value, undefined, style.unit).replaceAll('\n', `${style.eol}${indent}`)
}

function flowText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flowText).join(', ')}]`
  if (typeof value !== 'object' || value === null) return scalarText(value)
  const pairs = Object.entries(value).filter(([, inner]) => inner !== undefined)
  return `{${pairs.map(([key, inner]) => `${scalarText(key)}: ${flowText(inner)}`).join(', ')}}`
}

/**
 * Formats a scalar so that it has the same meaning inside braces as outside. Strings with
 * characters that are special in flow style are quoted.
 */
function scalarText(value: unknown): string {
  const text = stringify(value, YAML).slice(0, -1)
  const isQuoted = /^["']/.test(text)
  return typeof value === 'string' && !isQuoted && /[[\]{},#&*!|>%@`?]|: |:$/.test(text)
    ? JSON.stringify(value)
    : text
}

/** How a value is written as JSON. */
export interface JsonStyle {
  /** The indentation of each level; empty for JSON on one line. */
  readonly indent: '' | '  '
  /** Formats a text or a key as a string of JSON. */
  readonly quote: (text: string) => string
}

/** The length from which a part is complete, in UTF-16 code units. */
const PART_LENGTH = 1 << 16

/**
 * Yields the JSON of a value in parts, because all the text of a large report at once, with the
 * copies that joining and encoding make, would need several times the memory of its data. In
 * indented JSON, a list of numbers and texts is one line. The values over time of a report would
 * otherwise have a line each.
 */
export function* jsonParts(value: unknown, style: JsonStyle): Generator<string> {
  let part = ''
  for (const piece of jsonPieces(value, style, '')) {
    part += piece
    if (part.length < PART_LENGTH) continue
    yield part
    part = ''
  }
  yield part
}

/** @param above the indentation of the value's first line */
function* jsonPieces(value: unknown, style: JsonStyle, above: string): Generator<string> {
  const line = lineOf(value, style)
  if (line !== undefined) {
    yield line
    return
  }
  const isList = Array.isArray(value)
  const inner = `${above}${style.indent}`
  const [next, last] = style.indent === '' ? ['', ''] : [`\n${inner}`, `\n${above}`]
  const colon = style.indent === '' ? ':' : ': '
  let before = `${isList ? '[' : '{'}${next}`
  for (const [key, item] of membersOf(Object(value))) {
    yield isList ? before : `${before}${style.quote(key)}${colon}`
    yield* jsonPieces(item, style, inner)
    before = `,${next}`
  }
  yield `${last}${isList ? ']' : '}'}`
}

/** Returns the JSON of a value on one line; undefined if the value has lines of its own. */
function lineOf(value: unknown, style: JsonStyle): string | undefined {
  if (isScalar(value)) return scalarOf(value, style)
  if (!Array.isArray(value)) return membersOf(Object(value)).length === 0 ? '{}' : undefined
  if (!value.every(isScalar)) return undefined
  const items = value.map((item) => scalarOf(item, style))
  return `[${items.join(style.indent === '' ? ',' : ', ')}]`
}

function isScalar(value: unknown): boolean {
  return typeof value !== 'object' || value === null
}

function scalarOf(value: unknown, { quote }: JsonStyle): string {
  return typeof value === 'string' ? quote(value) : (JSON.stringify(value) ?? 'null')
}

function membersOf(value: object): readonly (readonly [string, unknown])[] {
  return Object.entries(value).filter(([, item]) => item !== undefined)
}

import { CST, type Scalar } from 'yaml'
import { capitalized } from '../../../lib/capitalized.ts'

/** The value of a scalar. */
export type ScalarValue = string | number | boolean | null

/** The prefix of the tags that YAML itself defines, such as `!!str`. */
const YAML_TAG = 'tag:yaml.org,2002:'

/**
 * Returns the value of a scalar as kubectl reads it. The rules come from go.yaml.in/yaml/v2
 * v2.4.3 (resolve.go and decode.go), which sigs.k8s.io/yaml uses: YAML 1.1 without numbers in base
 * 60. A timestamp remains a string.
 *
 * @param scalar a scalar of the failsafe schema, whose value is its text
 * @returns undefined if the text does not have the type of its tag
 */
export function readScalar(scalar: Scalar): ScalarValue | undefined {
  const { type, tag } = scalar
  const text = readText(scalar)
  if (tag === undefined && type !== 'PLAIN') return text
  return tag === undefined ? resolvePlain(text) : readTagged(tag, text)
}

/** Matches a backslash that ends a line before an empty line. */
const ESCAPED_BREAK = /(?<!\\)(?:\\\\)*\\\r?\n(?=[ \t]*\r?\n)/g

/**
 * Returns the text of a scalar. In double quotes, the library reads one line break too few where
 * empty lines follow a line that a backslash ends.
 */
function readText({ value, type, srcToken }: Scalar): string {
  const isQuoted = type === 'QUOTE_DOUBLE' && srcToken?.type === 'double-quoted-scalar'
  if (!isQuoted || !srcToken.source.includes('\\')) return String(value ?? '')
  const source = srcToken.source.replace(ESCAPED_BREAK, (all) => `${all}\n`)
  return CST.resolveAsScalar({ ...srcToken, source }).value
}

function readTagged(tag: string, text: string): ScalarValue | undefined {
  const name = tag.startsWith(YAML_TAG) ? tag.slice(YAML_TAG.length) : ''
  if (name === 'binary') return Buffer.from(text, 'base64').toString()
  const isRight = TYPES[name]
  if (isRight === undefined) return text
  const resolved = resolvePlain(text)
  return isRight(resolved, text) ? resolved : undefined
}

/** The tags of scalars whose text go-yaml resolves, with the values that they allow. */
const TYPES: Readonly<Record<string, (value: ScalarValue, text: string) => boolean>> = {
  bool: (value) => typeof value === 'boolean',
  float: (value) => typeof value === 'number',
  int: (_, text) => readInteger(text.replaceAll('_', '')) !== undefined,
  null: (value) => value === null,
  timestamp: (value, text) => typeof value === 'string' && /^\d{4}-/.test(text),
}

const WORDS: ReadonlyMap<string, ScalarValue> = new Map<string, ScalarValue>([
  ...caseForms('y', 'yes', 'true', 'on').map((word) => [word, true] as const),
  ...caseForms('n', 'no', 'false', 'off').map((word) => [word, false] as const),
  ...['', '~', ...caseForms('null')].map((word) => [word, null] as const),
  ...['.nan', '.NaN', '.NAN'].map((word) => [word, Number.NaN] as const),
  ...caseForms('inf').flatMap((word) => [
    [`.${word}`, Number.POSITIVE_INFINITY] as const,
    [`+.${word}`, Number.POSITIVE_INFINITY] as const,
    [`-.${word}`, Number.NEGATIVE_INFINITY] as const,
  ]),
])

/** Returns each word in lower case, with a capital letter, and in upper case. */
function caseForms(...words: readonly string[]): readonly string[] {
  return words.flatMap((word) => [word, capitalized(word), word.toUpperCase()])
}

const FLOAT = /^[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?$/

/** Matches the integers of Go's strconv.ParseInt with base 0, without underscores. */
const INTEGER = /^([-+]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9]\d*)$/

function resolvePlain(text: string): ScalarValue {
  const word = WORDS.get(text)
  if (word !== undefined) return word
  if (!/^[-+.\d]/.test(text)) return text
  // Underscores are removed, except from a number that begins with a dot.
  const plain = text.startsWith('.') ? text : text.replaceAll('_', '')
  const integer = readInteger(plain)
  if (integer !== undefined) return integer
  const float = FLOAT.test(plain) ? Number(plain) : Number.NaN
  return Number.isFinite(float) ? float : text
}

/** Reads an integer of at most 64 bits, as strconv.ParseInt and strconv.ParseUint do. */
function readInteger(text: string): number | undefined {
  const [, sign, digits] = INTEGER.exec(text) ?? []
  if (digits === undefined) return undefined
  const isOldOctal = /^0[0-7]/.test(digits)
  const size = BigInt(isOldOctal ? `0o${digits.slice(1)}` : digits.toLowerCase())
  const limit = sign === '' ? 2n ** 64n - 1n : sign === '-' ? 2n ** 63n : 2n ** 63n - 1n
  if (size > limit) return undefined
  return Number(sign === '-' ? -size : size)
}

/**
 * Returns the text of a scalar that is a key, as sigs.k8s.io/yaml v1.6.0 (convertToJSONableObject)
 * converts it; undefined for null, which cannot be a key.
 */
export function keyText(scalar: Scalar): string | undefined {
  const value = readScalar(scalar)
  if (value === null || value === undefined) return undefined
  return typeof value === 'number' && !Number.isInteger(value) ? floatKey(value) : String(value)
}

/** Formats a number as Go does with strconv.FormatFloat(value, 'g', -1, 32). */
function floatKey(value: number): string {
  if (Number.isNaN(value)) return '.nan'
  if (!Number.isFinite(value)) return value > 0 ? '.inf' : '-.inf'
  const short = Math.fround(value)
  const digits = [1, 2, 3, 4, 5, 6, 7, 8, 9].find(
    (count) => Math.fround(Number(short.toPrecision(count))) === short,
  )
  const [mantissa = '', exponent = '0'] = short.toExponential((digits ?? 9) - 1).split('e')
  const power = Number(exponent)
  if (power >= -4 && power < 21) return String(Number(`${mantissa}e${exponent}`))
  const sign = power < 0 ? '-' : '+'
  return `${mantissa}e${sign}${String(Math.abs(power)).padStart(2, '0')}`
}

import secureJson from 'secure-json-parse'
import { scanBody } from '../src/core/body-scan.ts'
import { type Review, readReview } from '../src/core/review.ts'
import { NotAReview, NotJson } from './problem.ts'

/**
 * Every JSON text with a key that causes prototype pollution contains one of these strings. An
 * escape such as `\u005f` can spell such a key, so `\u` is one of them.
 */
const SUSPECT = ['__proto__', 'constructor', '\\u']

/**
 * The depth limit of Go's decoder (encoding/json scanner.go, maxNestingDepth). An apiserver can
 * neither read nor send a pod with more levels.
 */
const MAX_LEVELS = 10_000

/**
 * The maximum number of objects, arrays and object members in total. JSON.parse needs at least 100
 * bytes for an object of two characters, and one second for a million different keys.
 *
 * etcd stores at most 1.5 MiB (etcd --max-request-bytes). The smallest part that a valid pod can
 * repeat is a toleration. A toleration takes 10 bytes in etcd, and counts here as two elements: an
 * object and its member. A stored pod therefore has at most 320,000 elements.
 */
const MAX_ELEMENTS = 400_000

/**
 * The maximum length of a text that is parsed without counting its levels and elements. Parsing
 * such a text takes a few milliseconds, whatever its content.
 */
const LONG_TEXT = 256 * 1024

/**
 * Reads the body of a request.
 *
 * @throws NotAReview for a text longer than `LONG_TEXT` with too many levels or elements, and for
 * JSON that is not an AdmissionReview; NotJson for any other text that is not JSON
 */
export function readBody(text: string): Review {
  const problem = text.length > LONG_TEXT ? scanProblem(text) : undefined
  if (problem !== undefined) throw new NotAReview(`not an AdmissionReview: ${problem}`)
  const json = withoutManagedFields(text)
  const review = readReview(parse(json), scanBody(json))
  if ('problem' in review) throw new NotAReview(`not an AdmissionReview: ${review.problem}`)
  return review
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
/** The change of the nesting depth at each character outside strings, by character code. */
const STEPS = new Int8Array(0x10000)
for (const bracket of ['[', '{']) STEPS[bracket.charCodeAt(0)] = 1
for (const bracket of [']', '}']) STEPS[bracket.charCodeAt(0)] = -1

/**
 * The number of elements to count at each character outside strings, by character code. Each member
 * of an object has one colon.
 */
const ELEMENTS = new Int8Array(0x10000)
for (const sign of ['[', '{', ':']) ELEMENTS[sign.charCodeAt(0)] = 1

/**
 * Counts levels and elements in one pass before the text is parsed, because JSON.parse takes half a
 * second and 120 MB for 7 MB of brackets.
 *
 * @returns a clause that describes the exceeded limit, or undefined if the text exceeds no limit
 */
function scanProblem(json: string): string | undefined {
  let levels = 0
  let elements = 0
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at)
    if (code === QUOTE) at = endOfText(json, at)
    levels += STEPS[code] ?? 0
    elements += ELEMENTS[code] ?? 0
    if (levels > MAX_LEVELS || elements > MAX_ELEMENTS) break
  }
  return sizeProblem(levels, elements)
}

function sizeProblem(levels: number, elements: number): string | undefined {
  if (levels > MAX_LEVELS) return `it has more than ${MAX_LEVELS} levels`
  if (elements <= MAX_ELEMENTS) return undefined
  return `it has more than ${MAX_ELEMENTS} objects, lists and fields`
}

/**
 * Returns the index of the quote that ends a string, or the length of the text if the string does
 * not end.
 */
function endOfText(json: string, start: number): number {
  let at = json.indexOf('"', start + 1)
  while (at >= 0 && isEscaped(json, at)) at = json.indexOf('"', at + 1)
  return at < 0 ? json.length : at
}

/** Reports whether a quote is escaped, that is, preceded by an odd number of backslashes. */
function isEscaped(json: string, quote: number): boolean {
  let first = quote
  while (json.charCodeAt(first - 1) === BACKSLASH) first -= 1
  return (quote - first) % 2 === 1
}

const MANAGED_FIELDS = '"managedFields":['

/**
 * Removes the items of the first `managedFields`, because no decision about a review uses them.
 * Managed fields are half of a pod's JSON and take half of the time to parse it.
 *
 * The text is returned unchanged if the array contains an opening bracket, or if the end of the
 * metadata and the key `spec` do not follow the array. The apiserver always writes `managedFields`
 * as the last field of the metadata, and `spec` after the metadata.
 *
 * The function needs three searches, and is correct for any JSON text:
 * - A quote inside a string is escaped, so `"managedFields":[` is always a key and the start of its
 *   array.
 * - An array without an opening bracket ends at the first closing bracket that is not in a string.
 * - The first closing bracket is not in a string: `},"spec":` must follow it. The quote before
 *   `spec` would end the string, and `spec` outside a string would not be valid JSON.
 */
export function withoutManagedFields(text: string): string {
  const start = text.indexOf(MANAGED_FIELDS)
  const content = start + MANAGED_FIELDS.length
  const end = text.indexOf(']', content)
  const isExact =
    start > 0 &&
    text[start - 1] !== '\\' &&
    text.startsWith('},"spec":', end + 1) &&
    !text.slice(content, end).includes('[')
  return isExact ? text.slice(0, content) + text.slice(end) : text
}

/**
 * Parses JSON, and removes each key `__proto__`, and each key `constructor` whose value is an
 * object with the key `prototype`.
 *
 * secure-json-parse searches for these keys with regular expressions, which take half as long as
 * JSON.parse. A text that cannot contain the keys is therefore parsed by JSON.parse directly.
 */
function parse(text: string): unknown {
  try {
    if (!SUSPECT.some((spelling) => text.includes(spelling))) return JSON.parse(text)
    return secureJson.parse(text, null, { protoAction: 'remove', constructorAction: 'remove' })
  } catch (error) {
    throw new NotJson(error)
  }
}

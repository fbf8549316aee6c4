import secureJson from 'secure-json-parse'
import { scanBody } from '../src/core/body-scan.ts'
import { type Review, readReview } from '../src/core/review.ts'
import { NotAReview, NotJson } from './problem.ts'

/**
 * Spellings of the keys that cause prototype pollution; an escape (`\u005f`) could also spell them.
 */
const SUSPECT = ['__proto__', 'constructor', '\\u']

/**
 * The depth limit of Go's decoder (encoding/json scanner.go, maxNestingDepth). No apiserver can
 * read, or send, a pod with more levels.
 */
const MOST_LEVELS = 10_000

/**
 * The most objects, arrays and object members in total. JSON.parse needs 100 bytes and more for an
 * object of two characters, and a second for a million different keys.
 *
 * etcd stores at most 1.5 MiB (etcd --max-request-bytes). A toleration is the smallest element that
 * a valid pod can repeat: it takes 10 bytes in etcd, and counts here as an object with one member.
 * So a stored pod has at most 320,000.
 */
const MOST_ELEMENTS = 400_000

/**
 * A text up to this length is parsed in a few milliseconds, whatever its content, and is not
 * checked.
 */
const LONG_TEXT = 256 * 1024

/**
 * Reads the body of a request.
 *
 * @throws NotJson, or NotAReview for JSON that is not an AdmissionReview
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
/** The change of the nesting depth, by the code of a character outside strings. */
const STEPS = new Int8Array(0x10000)
for (const bracket of ['[', '{']) STEPS[bracket.charCodeAt(0)] = 1
for (const bracket of [']', '}']) STEPS[bracket.charCodeAt(0)] = -1

/** The number of elements to add, by the same code: each member of an object has one colon. */
const ELEMENTS = new Int8Array(0x10000)
for (const sign of ['[', '{', ':']) ELEMENTS[sign.charCodeAt(0)] = 1

/**
 * Counts levels and elements in one pass before parsing: JSON.parse takes half a second and 120 MB
 * for 7 MB of brackets.
 *
 * @returns why the text exceeds a limit, as the rest of a sentence, or undefined
 */
function scanProblem(json: string): string | undefined {
  let levels = 0
  let elements = 0
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at)
    if (code === QUOTE) at = endOfText(json, at)
    levels += STEPS[code] ?? 0
    elements += ELEMENTS[code] ?? 0
    if (levels > MOST_LEVELS || elements > MOST_ELEMENTS) break
  }
  return sizeProblem(levels, elements)
}

function sizeProblem(levels: number, elements: number): string | undefined {
  if (levels > MOST_LEVELS) return `it has more than ${MOST_LEVELS} levels`
  if (elements <= MOST_ELEMENTS) return undefined
  return `it has more than ${MOST_ELEMENTS} objects, lists and fields`
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

/** Reports whether a quote is escaped: whether an odd number of backslashes precedes it. */
function isEscaped(json: string, quote: number): boolean {
  let first = quote
  while (json.charCodeAt(first - 1) === BACKSLASH) first -= 1
  return (quote - first) % 2 === 1
}

const MANAGED_FIELDS = '"managedFields":['

/**
 * Empties the first `managedFields`. They are half of a pod's JSON and half of the time to parse
 * it, and are not used here.
 *
 * The function needs three searches, and is exact for any JSON. A quote inside a string is escaped,
 * so this text is always a key. No bracket opens before the first closing bracket, so that bracket
 * ends the
 * array. The closing bracket is not inside a string, because the quote of the following `},"spec":`
 * would end that string. The text is unchanged if the array contains brackets, or is not the last
 * field of the metadata, where the apiserver writes it.
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
 * Parses JSON, without the keys `__proto__` and `constructor.prototype`.
 *
 * The library searches for these keys with regular expressions that take half as long as
 * JSON.parse; a text that cannot contain them is parsed directly.
 */
function parse(text: string): unknown {
  try {
    if (!SUSPECT.some((spelling) => text.includes(spelling))) return JSON.parse(text)
    return secureJson.parse(text, null, { protoAction: 'remove', constructorAction: 'remove' })
  } catch (error) {
    throw new NotJson(error)
  }
}

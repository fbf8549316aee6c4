import secureJson from 'secure-json-parse'
import { scanBody } from '../src/core/body-scan.ts'
import { type Review, readReview } from '../src/core/review.ts'
import { NotAReview, NotJson } from './problem.ts'

/** Spellings of the keys that poison a prototype; an escape (`\u005f`) could spell them too. */
const SUSPECT = ['__proto__', 'constructor', '\\u']

/**
 * Go decodes no deeper JSON (encoding/json scanner.go, maxNestingDepth), so no apiserver has read, and
 * none sends, a pod with more levels.
 */
const MOST_LEVELS = 10_000

/**
 * The most objects, lists and members of objects together. JSON.parse takes 100 bytes and more for an
 * object of two characters, and a second for a million different keys.
 *
 * etcd stores 1.5 MiB at most (etcd --max-request-bytes). The smallest thing that a valid pod can have
 * many of, a toleration, takes 10 bytes there, and counts as an object with a member here: a pod
 * that is stored has no more than 320,000.
 */
const MOST_ELEMENTS = 400_000

/** A shorter text is parsed in a few milliseconds, whatever is in it, and needs no look. */
const LONG_TEXT = 256 * 1024

/**
 * Reads the body of a call.
 *
 * @throws NotJson, or NotAReview for JSON that is something else
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
/** How many levels deeper, by the code of a character outside text. */
const STEPS = new Int8Array(0x10000)
for (const bracket of ['[', '{']) STEPS[bracket.charCodeAt(0)] = 1
for (const bracket of [']', '}']) STEPS[bracket.charCodeAt(0)] = -1

/** How many elements more, by the same code: each member of an object has one colon. */
const ELEMENTS = new Int8Array(0x10000)
for (const sign of ['[', '{', ':']) ELEMENTS[sign.charCodeAt(0)] = 1

/**
 * Counts levels and elements in one pass before anything is parsed: JSON.parse takes half a
 * second, and 120 MB, for 7 MB of brackets.
 *
 * @returns the rest of a sentence about a text that has too many, or undefined
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

/** The index of the quote that ends a text, or the length where none does. */
function endOfText(json: string, start: number): number {
  let at = json.indexOf('"', start + 1)
  while (at >= 0 && isEscaped(json, at)) at = json.indexOf('"', at + 1)
  return at < 0 ? json.length : at
}

/** Whether an odd number of backslashes stands before a quote. */
function isEscaped(json: string, quote: number): boolean {
  let first = quote
  while (json.charCodeAt(first - 1) === BACKSLASH) first -= 1
  return (quote - first) % 2 === 1
}

const MANAGED_FIELDS = '"managedFields":['

/**
 * Empties the first `managedFields`, half of a pod's JSON and of the time to parse it, which nobody
 * here reads.
 *
 * It takes three searches, and is exact for any JSON: a quote inside a string is escaped, so the key
 * is a key; no bracket opens before the first that closes, so that one ends the array; and it is in no
 * string, since the quote of `},"spec":` behind it would end that. An array that holds brackets, or
 * is not the last of the metadata, where the apiserver writes it, is left as it is.
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
 * The library looks for them with expressions that take half as long as JSON.parse itself; a text
 * that cannot hold them needs no look.
 */
function parse(text: string): unknown {
  try {
    if (!SUSPECT.some((spelling) => text.includes(spelling))) return JSON.parse(text)
    return secureJson.parse(text, null, { protoAction: 'remove', constructorAction: 'remove' })
  } catch (error) {
    throw new NotJson(error)
  }
}

import { quote } from './quote.ts'

/**
 * The pods that an annotation selects. A pod is selected if one of the terms matches it, so the
 * order and the repetition of terms have no effect.
 */
export interface PodSelector {
  /** The terms, separated by commas, for messages. */
  readonly text: string
  /** The numbers and ranges of numbers; a single number is a range of one. */
  readonly ranges: readonly IndexRange[]
  /** The N of each `every:N`, at least 1. */
  readonly steps: readonly number[]
  readonly names: ReadonlySet<string>
}

/** A range of pod indexes, including both ends. */
export interface IndexRange {
  readonly first: number
  readonly last: number
}

/** The maximum length of an expression in characters, and its maximum number of terms. */
const MAX_LENGTH = 512
const MAX_TERMS = 64

/** Indexes have at most nine digits, so they fit into the 32-bit integers of Kubernetes. */
const RANGE = /^(\d{1,9})(?:-(\d{1,9}))?$/
const STEP = /^every:(\d{1,9})$/

/**
 * A name that can be the value of a label (apimachinery pkg/util/validation/validation.go,
 * IsValidLabelValue). It has a letter, so that a misspelled range is not a name.
 */
const NAME = /^(?=.*[A-Za-z])[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/

/**
 * Parses an expression: numbers (`3`), ranges (`0-3`), `every:N`, and names of roles or pods
 * (`launcher`), separated by commas. Blanks and empty items are ignored. The time is linear in the
 * length of the expression, and does not depend on the size of a range.
 *
 * @returns undefined if the expression has no terms and selects every pod; a sentence with the
 * problem if the expression is invalid
 */
export function parsePods(
  expression: string,
): PodSelector | undefined | { readonly problem: string } {
  const { length } = expression
  if (length > MAX_LENGTH)
    return { problem: `the value has ${length} characters; at most ${MAX_LENGTH} are allowed` }
  const terms = expression.split(',').flatMap((term) => term.trim() || [])
  if (terms.length > MAX_TERMS)
    return { problem: `the value has ${terms.length} terms; at most ${MAX_TERMS} are allowed` }
  const wrong = terms.find((term) => !isTerm(term))
  if (wrong !== undefined) return { problem: `${quote(wrong)} is not ${TERMS}` }
  return terms.length === 0 ? undefined : buildSelector(terms)
}

const TERMS =
  'a pod index such as 3, a range such as 0-3, every:N with N from 1, or the name of a role ' +
  'such as worker'

function isTerm(term: string): boolean {
  const range = readRange(term)
  if (range !== undefined) return range.first <= range.last
  const step = readStep(term)
  return step === undefined ? NAME.test(term) : step > 0
}

function readRange(term: string): IndexRange | undefined {
  const [, first, last = first] = RANGE.exec(term) ?? []
  return first === undefined ? undefined : { first: Number(first), last: Number(last) }
}

function readStep(term: string): number | undefined {
  const [, step] = STEP.exec(term) ?? []
  return step === undefined ? undefined : Number(step)
}

function buildSelector(terms: readonly string[]): PodSelector {
  const isName = (term: string) => readRange(term) === undefined && readStep(term) === undefined
  return {
    text: terms.join(','),
    ranges: terms.flatMap((term) => readRange(term) ?? []),
    steps: terms.flatMap((term) => readStep(term) ?? []),
    names: new Set(terms.filter(isName)),
  }
}

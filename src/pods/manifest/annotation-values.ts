import { isAlias, isMap, isScalar, isSeq, type Node, type Pair, visit } from 'yaml'
import { DOMAIN } from '../../core/keys.ts'
import { quote } from '../../core/text/quote.ts'
import { at, ManifestError } from './manifest-error.ts'
import type { Manifest } from './read.ts'
import { readScalar } from './yaml/scalar.ts'

/** A key of Ridealong, also with the prefix that an operator removes from keys of annotations. */
const OUR_KEY = new RegExp(`^(.+\\.)?${DOMAIN.replace('.', '\\.')}/`, 's')

/**
 * Checks that the values of Ridealong's annotations and labels are strings, because the apiserver
 * refuses others: without quotes, `true` is a boolean and `5` is a number. The keys are checked
 * wherever they are, because each kind has its own place for the annotations of pods. A null is
 * permitted: the apiserver reads it as an empty string.
 *
 * @throws ManifestError with the line of the first value that is not a string
 */
export function checkAnnotationValues(manifest: Manifest): void {
  const { file, document, node, lines, text } = manifest
  if (!text.includes(DOMAIN)) return
  visit(node, {
    Pair: (_, pair) => {
      const key = readOurKey(pair)
      const problem = key === undefined ? undefined : describeValue(manifest, pair.value)
      if (key === undefined || problem === undefined) return
      const { range } = pair.key as Node
      const { line } = lines.linePos(range?.[0] ?? 0)
      throw new ManifestError(at({ file, document, line }, `${printed(key)}: ${problem}`))
    },
  })
}

function readOurKey({ key }: Pair): string | undefined {
  const text = isScalar(key) ? readScalar(key) : undefined
  return typeof text === 'string' && OUR_KEY.test(text) ? text : undefined
}

const RULE = 'but values of annotations and labels must be strings'

/** Describes a value that is not a string, and the string to write instead. */
function describeValue({ node }: Manifest, written: unknown): string | undefined {
  const value = isAlias(written) ? written.resolve(node) : written
  if (isSeq(value)) return `the value is a list, ${RULE}; separate the items by commas`
  if (isMap(value)) return `the value is a map, ${RULE}`
  const scalar = isScalar(value) ? readScalar(value) : undefined
  if (scalar === undefined || scalar === null || typeof scalar === 'string') return undefined
  return `${scalar} is a ${typeof scalar}, ${RULE}; write "${scalar}", with quotes`
}

/** Returns a key for a message. A key that Kubernetes does not allow is quoted. */
function printed(key: string): string {
  return /^[-A-Za-z0-9_./]{1,317}$/.test(key) ? key : quote(key)
}

/**
 * Rules that the answer to every review, even to a hostile one, must obey. The tests and
 * `npm run fuzz` use these rules.
 */
import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import jsonpatch from 'fast-json-patch'
import { loadCatalog } from '../../src/catalog/load.ts'
import { type NamespaceRules, readNamespace } from '../../src/core/namespaces/namespace.ts'
import { reviewPod } from '../../src/core/review-pod.ts'
import { readBody } from '../../webhook/body.ts'
import { NotAReview } from '../../webhook/problem.ts'
import { type Call, type Json, mapOf, withoutObservers } from './arbitrary.ts'

const folder = fileURLToPath(new URL('./catalog', import.meta.url))
const catalog = await loadCatalog({ folder })
const metrics = [...catalog.metrics.keys()]
const excludedNamespaces = new Set(['kube-system'])

/**
 * The maximum size of an answer in bytes. The additions of the built-in catalog take a tenth of
 * this size.
 */
export const MAX_BYTES = 64 * 1024

/**
 * The number of milliseconds that an answer may take in addition to three times the time of
 * JSON.parse for the body of its review.
 */
export const SLACK_MS = 200

/** The number of attempts, of which one must keep to the limit of time. */
const MAX_ATTEMPTS = 5

type Place = ReturnType<typeof readNamespace>

/** Measurements of an answer that obeyed the rules. */
export interface Survived {
  /** The outcome; the reason if the pod was left or denied; `not-a-review` for an invalid body. */
  readonly word: string
  readonly bytes: number
  /** Processor time in milliseconds: of JSON.parse, and of the whole answer. */
  readonly parseMs: number
  readonly answerMs: number
}

/**
 * Answers a call as the webhook does, and checks the answer.
 *
 * @throws AssertionError if the answer breaks a rule
 */
export function survive({ body, namespace }: Call, rules: NamespaceRules): Survived {
  const text = JSON.stringify(body)
  const place = readNamespace('hpc', namespace, rules)
  const answer = answerTo(text, place)
  const { answerMs, parseMs } = timesOf(text, place)
  if (answer === undefined) return { word: 'not-a-review', bytes: 0, parseMs, answerMs }
  assert.equal(answer.fault, undefined)
  const bytes = Buffer.byteLength(JSON.stringify(answer.response))
  assert.ok(bytes <= MAX_BYTES, `the answer has ${bytes} bytes`)
  const { allowed, patch } = answer.response.response
  assert.equal(allowed, answer.decision.outcome !== 'denied')
  if (patch !== undefined) assertOnlyAdded(mapOf(mapOf(body.request).object), patch)
  const { decision } = answer
  return {
    word: 'reason' in decision ? decision.reason : decision.outcome,
    bytes,
    parseMs,
    answerMs,
  }
}

/**
 * Measures an answer until one attempt keeps to the limit. A busy machine makes a single attempt
 * slow: other programs empty the caches, and processor time includes the collection of garbage.
 */
function timesOf(text: string, place: Place): { answerMs: number; parseMs: number } {
  const attempts: string[] = []
  while (attempts.length < MAX_ATTEMPTS) {
    const parseMs = processorMs(() => JSON.parse(text))
    const answerMs = processorMs(() => answerTo(text, place))
    if (answerMs <= SLACK_MS + 3 * parseMs) return { answerMs, parseMs }
    attempts.push(`the answer took ${answerMs} ms, JSON.parse ${parseMs} ms`)
  }
  throw new assert.AssertionError({ message: attempts.join('; ') })
}

function answerTo(text: string, namespace: Place) {
  try {
    return reviewPod(readBody(text), { catalog, namespace, excludedNamespaces })
  } catch (error) {
    if (error instanceof NotAReview) return undefined
    throw error
  }
}

/** Checks that a patch adds only fields that Ridealong may add, and changes no others. */
function assertOnlyAdded(pod: Json, patch: string): void {
  const operations = JSON.parse(`${Buffer.from(patch, 'base64')}`)
  const patched = jsonpatch.applyPatch(structuredClone(pod), operations, true).newDocument
  assert.deepEqual(withoutObservers(patched, pod, metrics), pod)
}

function processorMs(work: () => void): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

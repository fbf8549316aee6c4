import fc from 'fast-check'
import t from 'tap'
import { readBody, withoutManagedFields } from '../../webhook/body.ts'
import { recorded } from '../cases/read.ts'

/** Texts from the strings that `withoutManagedFields` searches for, and from similar strings. */
const TEXTS = fc
  .array(
    fc.constantFrom(...'[]{}",:\\', 'managedFields', '"managedFields":[', 'spec', ']},"spec":'),
    {
      maxLength: 6,
    },
  )
  .map((pieces) => pieces.join(''))
const KEYS = fc.oneof(fc.constantFrom('managedFields', 'spec', 'metadata'), TEXTS)
const VALUES = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 4 }, TEXTS, fc.integer(), tie('array'), tie('object')),
  array: fc.array(tie('value'), { maxLength: 3 }),
  object: fc.dictionary(KEYS, tie('value'), { maxKeys: 4 }),
}))

/** Returns the parsed JSON with empty managedFields. */
function meaningOf(text: string): unknown {
  return JSON.parse(text, (key, value) => {
    return key === 'managedFields' && Array.isArray(value) ? [] : value
  })
}

t.test('a body without its managedFields parses to the same values', async (t) => {
  const property = fc.property(VALUES.object, VALUES.array, VALUES.value, (rest, entries, spec) => {
    const metadata = { ...(rest as object), managedFields: entries }
    const text = JSON.stringify({ request: { object: { metadata, spec } } })
    const left = JSON.stringify(meaningOf(withoutManagedFields(text)))
    return left === JSON.stringify(meaningOf(text))
  })
  t.doesNotThrow(() => fc.assert(property, { numRuns: 20_000 }))
})

t.test('the managedFields that an apiserver writes are removed', async (t) => {
  const review = JSON.parse(recorded('flux-minicluster-rank0'))
  const read = JSON.parse(withoutManagedFields(JSON.stringify(review)))
  t.ok(review.request.object.metadata.managedFields.length > 0, 'the review has managedFields')
  review.request.object.metadata.managedFields = []
  t.strictSame(read, review)
})

t.test('a body with more values than a pod in etcd can have is not parsed', async (t) => {
  const review = (object: string) =>
    `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"a",` +
    `"operation":"CREATE","object":${object}}}`
  const objects = (count: number) => `[${'{},'.repeat(count)}"${'x'.repeat(300_000)}"]`
  const fields = (count: number) => `{${'"a":1,'.repeat(count)}"b":"${'x'.repeat(300_000)}"}`
  const refusal = { message: /more than 400000 objects, lists and fields/, code: 'NOT_A_REVIEW' }
  // The review, its request and their fields are eight values. The list or object in the request
  // is the ninth.
  t.equal(readBody(review(objects(399_991))).uid, 'a')
  t.throws(() => readBody(review(objects(399_992))), refusal)
  t.equal(readBody(review(fields(399_990))).uid, 'a')
  t.throws(() => readBody(review(fields(399_991))), refusal)
})

t.test('a body with more levels than Go decodes is not read as an AdmissionReview', async (t) => {
  const review = (value: string) =>
    `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"a",` +
    `"operation":"CREATE","object":${value},"x":"${'x'.repeat(300_000)}"}}`
  const lists = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
  const objects = (levels: number) => `${'{"a":'.repeat(levels)}0${'}'.repeat(levels)}`
  const refusal = { message: /levels/, code: 'NOT_A_REVIEW' }
  // Two of the levels are the review and its request.
  t.equal(readBody(review(lists(9_998))).uid, 'a')
  t.equal(readBody(review(objects(9_998))).uid, 'a')
  t.throws(() => readBody(review(lists(9_999))), refusal)
  t.throws(() => readBody(review(objects(9_999))), refusal)
  t.throws(() => readBody(review(lists(3_000_000))), refusal)
  t.equal(readBody(review(`[${'[],'.repeat(20_000)}{}]`)).uid, 'a', 'a long list has few levels')
  t.equal(
    readBody(review(JSON.stringify('[{"\\'.repeat(20_000)))).uid,
    'a',
    'brackets in a string are not levels',
  )
  t.throws(() => readBody(review('"').slice(0, -1)), { code: 'NOT_JSON' })
})

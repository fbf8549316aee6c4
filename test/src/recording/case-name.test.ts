import t from 'tap'
import { type Review, readReview } from '../../../src/core/review.ts'
import { caseName } from '../../../src/recording/case-name.ts'

function reviewOf(metadata: object, request: object = {}): Review {
  const object = { metadata, spec: { containers: [{ name: 'app' }] } }
  const review = readReview({
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: { uid: 'u', operation: 'CREATE', object, ...request },
  })
  if ('problem' in review) throw new Error(review.problem)
  return review
}

const owned = (kind: string) => ({ ownerReferences: [{ kind, name: 'o', controller: true }] })

const NAMES: readonly (readonly [string, Review, string])[] = [
  ['of a Job', reviewOf({ generateName: 'indexed-0-', ...owned('Job') }), 'job-indexed-0'],
  ['of nobody', reviewOf({ name: 'bare' }), 'pod-bare'],
  ['of a kind of many words', reviewOf({ name: 'a', ...owned('JobSet') }), 'jobset-a'],
  ['that says its way out', reviewOf({ name: '../../etc/passwd' }), 'pod-etc-passwd'],
  ['that says something odd', reviewOf({ name: 'é\u0000\n ~$(x)' }), 'pod-x'],
  ['that has no name', reviewOf({}), 'pod'],
  ['that is none', reviewOf({}, { object: 7, name: 'x' }), 'pod-x'],
]

for (const [what, review, name] of NAMES) {
  t.test(`the case of a pod ${what} is ${name}`, async (t) => t.equal(caseName(review), name))
}

t.test('no name is longer than a file system takes, with a number behind it', async (t) => {
  t.equal(caseName(reviewOf({ name: 'a'.repeat(5000) })).length, 100)
})

import t from 'tap'
import { caseName } from '../../../cli/record/recording.ts'
import { type Review, readReview } from '../../../src/core/review.ts'

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
  ['without an owner', reviewOf({ name: 'bare' }), 'pod-bare'],
  ['of a JobSet', reviewOf({ name: 'a', ...owned('JobSet') }), 'jobset-a'],
  ['whose name is a path', reviewOf({ name: '../../etc/passwd' }), 'pod-etc-passwd'],
  ['whose name has special characters', reviewOf({ name: 'é\u0000\n ~$(x)' }), 'pod-x'],
  ['that has no name', reviewOf({}), 'pod'],
  ['that is not an object', reviewOf({}, { object: 7, name: 'x' }), 'pod-x'],
]

for (const [what, review, name] of NAMES) {
  t.test(`the case of a pod ${what} is named ${name}`, async (t) => t.equal(caseName(review), name))
}

t.test('the name of a case has at most 100 bytes, to be a valid file name', async (t) => {
  t.equal(caseName(reviewOf({ name: 'a'.repeat(5000) })).length, 100)
})

import t from 'tap'
import { leavesItToNamespace, readReview } from '../../../src/core/review.ts'
import { reviewOf } from './build.ts'

const envelope = (request: unknown) => ({
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  request,
})

const REQUEST = { uid: 'a-b-c', operation: 'CREATE' }

t.test('the request of an AdmissionReview is read', async (t) => {
  const object = { metadata: { generateName: 'lammps-' } }
  const request = {
    ...REQUEST,
    operation: 'UPDATE',
    subResource: 'status',
    namespace: 'hpc',
    name: 'lammps-0',
    dryRun: true,
    object,
    oldObject: { old: true },
  }
  const review = readReview(envelope(request), { size: 300, mentions: 2 })
  t.strictSame(review, {
    source: { size: 300, mentions: 2 },
    uid: 'a-b-c',
    operation: 'UPDATE',
    subResource: 'status',
    namespace: 'hpc',
    name: 'lammps-0',
    dryRun: true,
    object,
    oldObject: { old: true },
  })
  t.equal('object' in review && review.object, object, 'the object is not copied')
})

t.test('fields of a request that are missing or of a wrong type have default values', async (t) => {
  t.strictSame(readReview(envelope(REQUEST)), {
    source: { size: Number.POSITIVE_INFINITY, mentions: Number.POSITIVE_INFINITY },
    uid: 'a-b-c',
    operation: 'CREATE',
    subResource: '',
    namespace: '',
    name: '',
    dryRun: false,
    object: undefined,
    oldObject: undefined,
  })
  const wrong = { subResource: 7, namespace: [], name: {}, dryRun: 'true' }
  t.match(readReview(envelope({ ...REQUEST, ...wrong })), {
    subResource: '',
    namespace: '',
    name: '',
    dryRun: false,
  })
})

t.test(
  'the name is request.name, otherwise name, otherwise generateName of the object',
  async (t) => {
    const nameOf = (name: unknown, metadata: unknown) => {
      const review = readReview(envelope({ ...REQUEST, name, object: { metadata } }))
      return 'name' in review ? review.name : review.problem
    }
    t.equal(nameOf('a', { name: 'b', generateName: 'c-' }), 'a')
    t.equal(nameOf('', { name: 'b', generateName: 'c-' }), 'b')
    t.equal(nameOf(undefined, { generateName: 'c-' }), 'c-')
    t.equal(nameOf(undefined, { name: '', generateName: 'c-' }), 'c-')
    t.equal(nameOf(undefined, 'nonsense'), '')
  },
)

t.test(
  'the problem of a body that is no valid AdmissionReview of version v1 names the field',
  async (t) => {
    const rows: [string, unknown][] = [
      ['kind', undefined],
      ['kind', null],
      ['kind', 'AdmissionReview'],
      ['kind', []],
      ['kind', {}],
      ['kind', { ...envelope(REQUEST), kind: 'Pod' }],
      ['apiVersion', { kind: 'AdmissionReview', request: REQUEST }],
      ['apiVersion', { ...envelope(REQUEST), apiVersion: 'admission.k8s.io/v1beta1' }],
      ['uid', envelope(undefined)],
      ['uid', envelope(null)],
      ['uid', envelope([])],
      ['uid', envelope({ operation: 'CREATE' })],
      ['uid', envelope({ uid: '', operation: 'CREATE' })],
      ['uid', envelope({ uid: 7, operation: 'CREATE' })],
      ['operation', envelope({ uid: 'a' })],
      ['operation', envelope({ uid: 'a', operation: null })],
    ]
    for (const [named, body] of rows) {
      const review = readReview(body)
      t.match(review, { problem: named }, JSON.stringify(body))
      t.notOk('uid' in review)
    }
  },
)

t.test(
  'a pod leaves the request to its namespace unless it has its own annotation inject',
  async (t) => {
    const leaves = (metadata: unknown) => {
      return leavesItToNamespace(reviewOf({ metadata }))
    }
    t.equal(leaves({ annotations: { 'ridealong.dev/inject': 'perf-sysstat' } }), false)
    t.equal(leaves({ annotations: { 'ridealong.dev/inject': 'false' } }), false)
    t.equal(leaves({ annotations: { 'ridealong.dev/inject': '' } }), false)
    t.equal(leaves({ annotations: { 'ridealong.dev/mode': 'native' } }), true)
    for (const metadata of [undefined, null, 7, {}, { annotations: null }, { annotations: 'x' }]) {
      t.equal(leaves(metadata), true)
    }
  },
)

t.test(
  'a uid of more than 256 characters is invalid, because the answer would repeat the uid',
  async (t) => {
    const longest = 'x'.repeat(256)
    t.match(readReview(envelope({ ...REQUEST, uid: longest })), { uid: longest })
    t.match(readReview(envelope({ ...REQUEST, uid: `${longest}x` })), { problem: /uid/ })
  },
)

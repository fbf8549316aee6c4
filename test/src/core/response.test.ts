import t from 'tap'
import { allow, allowPatched, deny } from '../../../src/core/response.ts'
import { reviewOf } from './build.ts'

const REVIEW = reviewOf({}, { uid: 'a-b-c' })

/** The response as the apiserver receives it. */
const sent = (response: unknown) => JSON.parse(JSON.stringify(response))

const answer = (response: object) => ({
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  response: { uid: 'a-b-c', ...response },
})

t.test('allow() returns a response without a patch, with the warnings', async (t) => {
  t.strictSame(sent(allow(REVIEW)), answer({ allowed: true }))
  t.strictSame(sent(allow(REVIEW, [])), answer({ allowed: true }))
  t.strictSame(
    sent(allow(REVIEW, ['careful'])),
    answer({ allowed: true, warnings: ['ridealong: careful'] }),
  )
})

t.test('allowPatched() returns a response with the patch in base64 and the warnings', async (t) => {
  const operations = [{ op: 'add', path: '/a', value: 'größe 🚀' }] as const
  const { response } = sent(allowPatched(REVIEW, operations, ['one', 'two']))
  t.strictSame(Object.keys(response).sort(), ['allowed', 'patch', 'patchType', 'uid', 'warnings'])
  t.match(response, {
    uid: 'a-b-c',
    allowed: true,
    patchType: 'JSONPatch',
    warnings: ['ridealong: one', 'ridealong: two'],
  })
  t.strictSame(JSON.parse(Buffer.from(response.patch, 'base64').toString('utf8')), operations)
})

t.test('if the patch is empty, the response has neither a patch nor a patch type', async (t) => {
  t.strictSame(sent(allowPatched(REVIEW, [])), answer({ allowed: true }))
  t.strictSame(
    sent(allowPatched(REVIEW, [], ['careful'])),
    answer({ allowed: true, warnings: ['ridealong: careful'] }),
  )
})

t.test('deny() returns a response with the HTTP status 403 and the message', async (t) => {
  t.strictSame(
    sent(deny(REVIEW, 'the pod is wrong')),
    answer({
      allowed: false,
      status: { code: 403, reason: 'Forbidden', message: 'ridealong: the pod is wrong' },
    }),
  )
})

t.test('a warning of more than 256 characters is cut', async (t) => {
  const { response } = sent(allow(REVIEW, ['x'.repeat(1000), 'short']))
  t.strictSame(response.warnings, [`ridealong: ${'x'.repeat(242)}...`, 'ridealong: short'])
  t.equal(response.warnings[0].length, 256)
})

t.test(
  'a warning is printable ASCII, and the message of a denial is printable and short',
  async (t) => {
    const hostile = '\u001b[2J\u009b2J\u202egr\u00f6\u00dfe\n'
    const { response } = sent(allow(REVIEW, [hostile]))
    t.strictSame(response.warnings, ['ridealong: ?[2J?2J?gr??e?'])
    const { response: refusal } = sent(deny(REVIEW, hostile))
    t.equal(refusal.status.message, 'ridealong: \\u001b[2J\\u009b2J\\u202egr\u00f6\u00dfe\\n')
    const { response: long } = sent(deny(REVIEW, 'x'.repeat(5_000_000)))
    t.equal(long.status.message.length, 1024)
  },
)

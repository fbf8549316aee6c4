import { gzipSync } from 'node:zlib'
import t from 'tap'
import { KEYS } from '../../src/core/keys.ts'
import { indexNamespaces } from '../../src/namespaces/namespace-file.ts'
import { readBody } from '../../webhook/body.ts'
import { turnEnd } from '../../webhook/routes.ts'
import {
  type Answer,
  ASKING,
  addedNames,
  type Call,
  call,
  JSON_TYPE,
  type Json,
  makeApp,
  namespaceOf,
  operationsOf,
  podOf,
  post,
  reviewOf,
  sampleOf,
  startServer,
  verdictOf,
} from './server.ts'

const PODS = '/mutate/pods'
const SPACES = '/mutate/namespaces'
const SEVEN_MIB = 7 * 1024 * 1024

const running = await startServer(t)
const { port, ca } = running

function bad(changes: Partial<Call>): Promise<Answer> {
  return call({ port, ca, path: PODS, method: 'POST', headers: JSON_TYPE, ...changes })
}

async function reviews(labels: Json): Promise<number> {
  return sampleOf(await running.metrics(), 'ridealong_reviews_total', labels) ?? 0
}

const asking = JSON.stringify(reviewOf(ASKING))

t.test('the query string with the timeout is not part of the path', async (t) => {
  t.strictSame(addedNames(await post(running, `${PODS}?timeout=3s`, asking)), ['perf-sysstat'])
  const answer = await post(running, `${SPACES}?timeout=3s`, reviewOf(namespaceOf('lab')))
  t.equal(verdictOf(answer).allowed, true)
})

t.test('a content type may include a character set', async (t) => {
  const headers = { 'content-type': 'application/json; charset=utf-8' }
  t.strictSame(addedNames(await bad({ headers, body: asking })), ['perf-sysstat'])
})

const pad = (length: number) => Buffer.from(`"${'x'.repeat(length - 2)}"`)

const BAD: readonly (readonly [string, Partial<Call>, number, string])[] = [
  ['text that is not JSON', { body: 'hello' }, 400, 'not-json'],
  ['an empty body', { body: '' }, 400, 'not-json'],
  ['JSON that ends too early', { body: asking.slice(0, -20) }, 400, 'not-json'],
  ['JSON with trailing text', { body: `${asking}}` }, 400, 'not-json'],
  ['a body in gzip', { body: gzipSync(asking) }, 400, 'not-json'],
  [
    'a body in gzip with its content-encoding',
    { body: gzipSync(asking), headers: { ...JSON_TYPE, 'content-encoding': 'gzip' } },
    400,
    'not-json',
  ],
  ['an object of another kind', { body: JSON.stringify(ASKING) }, 400, 'not-a-review'],
  ['null', { body: 'null' }, 400, 'not-a-review'],
  ['a list', { body: `[${asking}]` }, 400, 'not-a-review'],
  [
    'a review of the version v1beta1',
    { body: asking.replace('admission.k8s.io/v1', 'admission.k8s.io/v1beta1') },
    400,
    'not-a-review',
  ],
  [
    'a review without a request',
    { body: '{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}' },
    400,
    'not-a-review',
  ],
  [
    'a review whose uid is a number',
    { body: JSON.stringify(reviewOf(ASKING, { uid: 7 })) },
    400,
    'not-a-review',
  ],
  ['a body over 7 MiB', { body: pad(SEVEN_MIB + 1) }, 413, 'body-too-large'],
  [
    'a body over 7 MiB without a declared length',
    { body: Array.from({ length: 8 }, () => Buffer.alloc(1024 * 1024, 0x20)) },
    413,
    'body-too-large',
  ],
  [
    'a review as text/plain',
    { body: asking, headers: { 'content-type': 'text/plain' } },
    415,
    'not-application-json',
  ],
  [
    'a review as a patch',
    { body: asking, headers: { 'content-type': 'application/json-patch+json' } },
    415,
    'not-application-json',
  ],
  ['a review without content type', { body: asking, headers: {} }, 415, 'not-application-json'],
  ['a GET request', { method: 'GET', headers: {} }, 405, 'wrong-method'],
  ['PUT of a review', { method: 'PUT', body: asking }, 405, 'wrong-method'],
  ['a review', { path: '/mutate', body: asking }, 404, 'wrong-path'],
  ['a review', { path: '/mutate/pods/x', body: asking }, 404, 'wrong-path'],
]

for (const path of [PODS, SPACES]) {
  for (const [what, changes, status, word] of BAD) {
    const where = changes.path ?? path
    t.test(`${what} at ${where} is answered with ${status}, explained and counted`, async (t) => {
      const before = await reviews({ outcome: 'invalid', reason: word })
      const answer = await bad({ path, ...changes })
      t.equal(answer.status, status)
      t.match(answer.headers['content-type'], 'application/json')
      const { error, message, ...others } = JSON.parse(answer.body)
      t.equal(error, word)
      t.match(message, /^\S+ .*\S/, 'the message is a sentence')
      t.strictSame(others, {}, 'the answer has no other fields')
      t.equal(await reviews({ outcome: 'invalid', reason: word }), before + 1)
      t.strictSame(
        addedNames(await post(running, PODS, asking)),
        ['perf-sysstat'],
        'the server still works',
      )
    })
  }
}

t.test('a call without a body is answered with a client error', async (t) => {
  for (const path of [PODS, SPACES]) {
    for (const headers of [{}, JSON_TYPE]) {
      const before = await reviews({ outcome: 'invalid' })
      const { status, body } = await bad({ path, headers })
      t.ok(status === 400 || status === 415, `the status is ${status}`)
      t.match(JSON.parse(body), { error: /^not-/, message: / / })
      t.equal(await reviews({ outcome: 'invalid' }), before + 1)
    }
  }
})

t.test(
  'a wrong method is answered with the right one, a wrong path with the valid paths',
  async (t) => {
    for (const path of [PODS, `${SPACES}?timeout=3s`]) {
      const answer = await bad({ path, method: 'GET', headers: {} })
      t.equal(answer.headers.allow, 'POST')
    }
    const { body, headers } = await bad({ path: '/', body: asking })
    t.match(JSON.parse(body).message, PODS)
    t.match(JSON.parse(body).message, SPACES)
    t.equal(headers.allow, undefined)
  },
)

t.test('a review of nearly 7 MiB is answered', async (t) => {
  const body = JSON.stringify(reviewOf({ ...ASKING, unknown: 'x'.repeat(SEVEN_MIB - 4096) }))
  t.strictSame(addedNames(await bad({ body })), ['perf-sysstat'])
})

/** Fields whose keys could pollute prototypes, in several spellings of JSON. */
const POISON: readonly string[] = [
  '"__proto__": {"polluted": "yes", "spec": {"hostPID": true}}',
  '"\\u005f\\u005fproto\\u005f\\u005f": {"polluted": "yes"}',
  '"_\\u005Fproto__": {"polluted": "yes"}',
  '"__proto__": null',
  '"constructor": {"prototype": {"polluted": "yes"}}',
  '"constructor" : {"__proto__": {"polluted": "yes"}}',
  '"\\u0063onstructor": {"\\u0070rototype": {"polluted": "yes"}}',
]

/** A review with markers at several depths. The tests replace the markers. */
const MARKED = JSON.stringify({
  'MARK-0': 0,
  ...reviewOf(
    podOf(
      { 'MARK-1': 0, [KEYS.inject]: 'perf-sysstat' },
      {
        metadata: { 'MARK-2': 0, labels: { 'MARK-3': 0 } },
        spec: {
          'MARK-4': 0,
          containers: [{ 'MARK-5': 0, name: 'app', resources: { limits: { 'MARK-6': 0 } } }],
          unknown: { deep: [{ deeper: { 'MARK-7': 0 } }] },
        },
      },
    ),
    { 'MARK-8': 0 },
  ),
})

for (const poison of POISON) {
  t.test(`${poison} in a review changes neither the answer nor the process`, async (t) => {
    const text = MARKED.replaceAll(/"MARK-\d":0/g, poison)
    t.not(text, MARKED)
    const clean = await post(running, PODS, MARKED.replaceAll('"MARK', '"PLAIN'))
    const answer = await post(running, PODS, text)
    t.strictSame(operationsOf(answer), operationsOf(clean))
    t.strictSame(addedNames(answer), ['perf-sysstat'])
    t.equal(Reflect.get({}, 'polluted'), undefined)
    t.equal(
      Reflect.get(() => {}, 'polluted'),
      undefined,
    )
    t.notMatch(JSON.stringify(readBody(text)), 'polluted', 'the keys are removed')
  })
}

t.test('the last of two equal keys is used, as in Go', async (t) => {
  const one = `"${KEYS.inject}":"perf-sysstat"`
  const two = asking.replace(one, `"${KEYS.inject}":"none-such",${one}`)
  t.strictSame(addedNames(await post(running, PODS, two)), ['perf-sysstat'])
})

t.test('a pod with a field nearly as deep as Go can decode is injected', async (t) => {
  const levels = 9_990
  for (const [open, close] of [
    ['[', ']'],
    ['{"a":', '}'],
  ] as const) {
    const nest = `${open.repeat(levels)}1${close.repeat(levels)}`
    const inSpec = asking.replace('"spec":{', `"spec":{"unknown":${nest},`)
    const inContainer = asking.replace('"containers":[{', `"containers":[{"unknown":${nest},`)
    const inAnnotation = asking.replace('"annotations":{', `"annotations":{"unknown":${nest},`)
    for (const body of [inSpec, inContainer]) {
      t.not(body, asking)
      t.strictSame(addedNames(await bad({ body })), ['perf-sysstat'])
    }
    // An annotation cannot be a list or a map, so the apiserver rejects this pod in any case.
    t.equal(verdictOf(await bad({ body: inAnnotation })).allowed, true)
    const poisoned = inSpec.replace('"spec":{', '"spec":{"__proto__":1,')
    t.strictSame(addedNames(await bad({ body: poisoned })), ['perf-sysstat'])
    const verdict = verdictOf(await bad({ path: SPACES, body: inSpec }))
    t.equal(verdict.allowed, true)
  }
})

t.test('the answer has the uid of the review, with any characters', async (t) => {
  const uids = ['"', '\\', 'a"b'.repeat(85), '\u0000\u001b\n', 'é€😀', '\u2028', '<script>']
  for (const uid of uids) {
    t.equal(verdictOf(await post(running, PODS, reviewOf(ASKING, { uid }))).uid, uid)
  }
})

t.test(
  'all calls in a turn of the event loop get the same promise, and the next turn has another',
  async (t) => {
    const first = turnEnd()
    t.equal(turnEnd(), first)
    await first
    const second = turnEnd()
    t.not(second, first)
    await second
  },
)

t.test(
  'calls that arrive together are all decided before the first answer is written',
  async (t) => {
    const steps: string[] = []
    const { find } = indexNamespaces([])
    const namespaces = {
      find: (...asked: Parameters<typeof find>) => {
        steps.push('answer')
        return find(...asked)
      },
    }
    const { app } = await makeApp(t, { namespaces })
    app.addHook('onSend', async () => {
      steps.push('write')
    })
    await app.ready()
    const payload = JSON.stringify(reviewOf(ASKING))
    const call = () =>
      app.inject({ method: 'POST', url: '/mutate/pods', headers: JSON_TYPE, payload })
    const answers = await Promise.all([call(), call(), call()])
    for (const { statusCode, body } of answers) {
      t.equal(statusCode, 200)
      t.ok(JSON.parse(body).response.patch)
    }
    t.strictSame(steps, ['answer', 'answer', 'answer', 'write', 'write', 'write'])
  },
)

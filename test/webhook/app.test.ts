import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { loadCatalog } from '../../src/catalog/load.ts'
import { type Metric, PRIVILEGES } from '../../src/core/catalog.ts'
import { KEYS } from '../../src/core/keys.ts'
import type { Namespace } from '../../src/core/namespace.ts'
import { readBody } from '../../webhook/body.ts'
import { NotKnownYet } from '../../webhook/namespaces.ts'
import {
  type Answer,
  ASKING,
  addedNames,
  type Call,
  call,
  inTime,
  JSON_TYPE,
  type Json,
  keepAliveAgent,
  NAMES,
  namespaceOf,
  openSocket,
  operationsOf,
  podOf,
  post,
  reviewOf,
  sampleOf,
  startApp,
  startServer,
  verdictOf,
} from '../server.ts'
import { until } from '../until.ts'

const PODS = '/mutate/pods'
const SPACES = '/mutate/namespaces'
const SEVEN_MIB = 7 * 1024 * 1024
const LONGEST_LINE = 1024

const running = await startServer(t)
const { port, ca } = running

function bad(changes: Partial<Call>): Promise<Answer> {
  return call({ port, ca, path: PODS, method: 'POST', headers: JSON_TYPE, ...changes })
}

async function reviews(labels: Json): Promise<number> {
  return sampleOf(await running.metrics(), 'ridealong_reviews_total', labels) ?? 0
}

function linesFrom(lines: readonly string[], start: number): readonly Record<string, unknown>[] {
  return lines.slice(start).map((line) => JSON.parse(line))
}

const asking = JSON.stringify(reviewOf(ASKING))

t.test('a pod that asks gets its observer over HTTPS', async (t) => {
  const answer = await post(running, PODS, asking)
  t.equal(answer.status, 200)
  t.match(answer.headers['content-type'], 'application/json')
  t.strictSame(addedNames(answer), ['perf-sysstat'])
  t.equal(verdictOf(answer).uid, '2bf81092-b31c-43bd-8cff-5901dbd750b9')
})

t.test("the namespace's annotation asks for its pods", async (t) => {
  const answer = await post(running, PODS, reviewOf(podOf({}), { namespace: 'hpc' }))
  t.strictSame(addedNames(answer), ['perf-sysstat'])
  t.strictSame(operationsOf(await post(running, PODS, reviewOf(podOf({})))), [])
})

t.test('an excluded namespace gets nothing', async (t) => {
  const answer = await post(running, PODS, reviewOf(ASKING, { namespace: 'kube-system' }))
  t.strictSame(operationsOf(answer), [])
})

t.test('the timeout that the apiserver writes into the path is no part of it', async (t) => {
  t.strictSame(addedNames(await post(running, `${PODS}?timeout=3s`, asking)), ['perf-sysstat'])
  const answer = await post(running, `${SPACES}?timeout=3s`, reviewOf(namespaceOf('lab')))
  t.equal(verdictOf(answer).allowed, true)
})

t.test('a content type may carry its character set', async (t) => {
  const headers = { 'content-type': 'application/json; charset=utf-8' }
  t.strictSame(addedNames(await bad({ headers, body: asking })), ['perf-sysstat'])
})

t.test('calls that follow each other share one connection', async (t) => {
  const agent = keepAliveAgent(t)
  const answers = []
  for (let i = 0; i < 3; i++) answers.push(await post(running, PODS, asking, agent))
  t.strictSame(
    answers.map(({ reused }) => reused),
    [false, true, true],
  )
  const [first] = answers
  t.match(first?.headers['keep-alive'], 'timeout=120', 'longer than the 90 s of the apiserver')
})

t.test('reviews that are written without waiting are answered in their order', async (t) => {
  const socket = await openSocket(port, ca)
  t.teardown(() => socket.destroy())
  let received = ''
  socket.on('data', (chunk) => {
    received += chunk
  })
  const uids = ['first', 'second', 'third']
  for (const uid of uids) {
    const body = JSON.stringify(reviewOf(podOf({}), { uid }))
    const head = `POST ${PODS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json`
    socket.write(`${head}\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
  }
  await until('three answers came', () => received.split('"allowed":true').length === 4)
  const places = uids.map((uid) => received.indexOf(`"uid":"${uid}"`))
  t.ok(places.every((place) => place > 0))
  t.strictSame(
    places,
    places.toSorted((a, b) => a - b),
  )
})

const pad = (length: number) => Buffer.from(`"${'x'.repeat(length - 2)}"`)

const BAD: readonly (readonly [string, Partial<Call>, number, string])[] = [
  ['text that is not JSON', { body: 'hello' }, 400, 'not-json'],
  ['an empty body', { body: '' }, 400, 'not-json'],
  ['JSON that ends too early', { body: asking.slice(0, -20) }, 400, 'not-json'],
  ['JSON with more behind it', { body: `${asking}}` }, 400, 'not-json'],
  ['a body in gzip', { body: gzipSync(asking) }, 400, 'not-json'],
  [
    'a body in gzip that says so',
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
    'a body over 7 MiB that does not say its length',
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
  ['GET', { method: 'GET', headers: {} }, 405, 'wrong-method'],
  ['PUT of a review', { method: 'PUT', body: asking }, 405, 'wrong-method'],
  ['another path', { path: '/mutate', body: asking }, 404, 'wrong-path'],
  ['a path that only begins as ours', { path: '/mutate/pods/x', body: asking }, 404, 'wrong-path'],
]

for (const path of [PODS, SPACES]) {
  for (const [what, changes, status, word] of BAD) {
    t.test(`${what} at ${path} is answered with ${status}, said and counted`, async (t) => {
      const before = await reviews({ outcome: 'invalid', reason: word })
      const answer = await bad({ path, ...changes })
      t.equal(answer.status, status)
      t.match(answer.headers['content-type'], 'application/json')
      const { error, message, ...others } = JSON.parse(answer.body)
      t.equal(error, word)
      t.match(message, /^\S+ .*\S/, 'a sentence')
      t.strictSame(others, {}, 'and nothing else')
      t.equal(await reviews({ outcome: 'invalid', reason: word }), before + 1)
      t.strictSame(addedNames(await post(running, PODS, asking)), ['perf-sysstat'], 'it goes on')
    })
  }
}

t.test('a call without a body is the fault of its caller', async (t) => {
  for (const path of [PODS, SPACES]) {
    for (const headers of [{}, JSON_TYPE]) {
      const before = await reviews({ outcome: 'invalid' })
      const { status, body } = await bad({ path, headers })
      t.ok(status === 400 || status === 415, `${status}`)
      t.match(JSON.parse(body), { error: /^not-/, message: / / })
      t.equal(await reviews({ outcome: 'invalid' }), before + 1)
    }
  }
})

t.test('another method is told which one is right, another path which ones are', async (t) => {
  for (const path of [PODS, `${SPACES}?timeout=3s`]) {
    const answer = await bad({ path, method: 'GET', headers: {} })
    t.equal(answer.headers.allow, 'POST')
  }
  const { body, headers } = await bad({ path: '/', body: asking })
  t.match(JSON.parse(body).message, PODS)
  t.match(JSON.parse(body).message, SPACES)
  t.equal(headers.allow, undefined)
})

t.test('a review of 7 MiB less the envelope is answered', async (t) => {
  const body = JSON.stringify(reviewOf({ ...ASKING, unknown: 'x'.repeat(SEVEN_MIB - 4096) }))
  t.strictSame(addedNames(await bad({ body })), ['perf-sysstat'])
})

const NONSENSE: readonly (readonly [string, unknown])[] = [
  ['null', null],
  ['a number', 7],
  ['a list', []],
  ['no spec', { metadata: { annotations: { [KEYS.inject]: 'perf-sysstat' } } }],
  ['metadata that is text', { ...ASKING, metadata: 'x' }],
  ['annotations that are a list', podOf({}, { metadata: { annotations: ['x'] } })],
  [
    'containers that are a map',
    podOf({ [KEYS.inject]: 'io-sysstat' }, { spec: { containers: {} } }),
  ],
  ['containers of null', podOf({ [KEYS.inject]: 'io-sysstat' }, { spec: { containers: [null] } })],
  ['no containers', podOf({ [KEYS.inject]: 'io-sysstat' }, { spec: { containers: [] } })],
  ['volumes that are text', podOf({ [KEYS.inject]: 'io-sysstat' }, { spec: { volumes: 'x' } })],
  ['a name that is a number', podOf({}, { metadata: { name: 7 } })],
]

for (const [what, object] of NONSENSE) {
  t.test(`a pod that is ${what} is allowed as it came`, async (t) => {
    const verdict = verdictOf(await post(running, PODS, reviewOf(object)))
    t.equal(verdict.allowed, true)
    t.equal(verdict.patch, undefined)
    t.equal(verdict.patchType, undefined)
    const space = verdictOf(await post(running, SPACES, reviewOf(object)))
    t.equal(space.allowed, true)
  })
}

/** Keys that poison prototypes, in every spelling that JSON has. */
const POISON: readonly string[] = [
  '"__proto__": {"polluted": "yes", "spec": {"hostPID": true}}',
  '"\\u005f\\u005fproto\\u005f\\u005f": {"polluted": "yes"}',
  '"_\\u005Fproto__": {"polluted": "yes"}',
  '"__proto__": null',
  '"constructor": {"prototype": {"polluted": "yes"}}',
  '"constructor" : {"__proto__": {"polluted": "yes"}}',
  '"\\u0063onstructor": {"\\u0070rototype": {"polluted": "yes"}}',
]

/** The asking review with a marker at several depths. */
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
    t.notMatch(JSON.stringify(readBody(text)), 'polluted', 'the keys are taken out')
  })
}

t.test('names that every object has are no metrics', async (t) => {
  for (const name of ['constructor', 'toString', '__proto__', 'hasOwnProperty']) {
    const verdict = verdictOf(
      await post(running, PODS, reviewOf(podOf({ [KEYS.inject]: name, [KEYS.onError]: 'deny' }))),
    )
    t.equal(verdict.allowed, false, name)
    t.match(verdict.status?.message, `names "${name}"; known metrics are`)
  }
})

t.test('of two keys with one name the last counts, as in Go', async (t) => {
  const one = `"${KEYS.inject}":"perf-sysstat"`
  const two = asking.replace(one, `"${KEYS.inject}":"none-such",${one}`)
  t.strictSame(addedNames(await post(running, PODS, two)), ['perf-sysstat'])
})

t.test(
  'an unknown field as deep as Go decodes does not keep the pod from its observer',
  async (t) => {
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
      // No annotation is a list or a map, so the apiserver will refuse the pod whatever is answered.
      t.equal(verdictOf(await bad({ body: inAnnotation })).allowed, true)
      const poisoned = inSpec.replace('"spec":{', '"spec":{"__proto__":1,')
      t.strictSame(addedNames(await bad({ body: poisoned })), ['perf-sysstat'])
      const verdict = verdictOf(await bad({ path: SPACES, body: inSpec }))
      t.equal(verdict.allowed, true)
    }
  },
)

t.test('a connection that ends in the middle of a body hurts nobody else', async (t) => {
  const head = `POST ${PODS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json`
  for (const end of ['destroy', 'end', 'resetAndDestroy'] as const) {
    const socket = await openSocket(port, ca)
    socket.write(`${head}\r\nContent-Length: ${asking.length}\r\n\r\n${asking.slice(0, 100)}`)
    await sleep(20)
    if (end === 'resetAndDestroy') socket.destroy()
    else socket[end]()
    t.strictSame(addedNames(await post(running, PODS, asking)), ['perf-sysstat'])
  }
})

t.test('connections that say nothing keep nobody waiting', async (t) => {
  const sockets = await Promise.all(Array.from({ length: 50 }, () => openSocket(port, ca)))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
  })
  for (const socket of sockets) socket.write(`POST ${PODS} HTTP/1.1\r\nHost: loc`)
  t.strictSame(addedNames(await post(running, PODS, asking)), ['perf-sysstat'])
})

t.test('a client that trusts another authority is not served', async (t) => {
  const other = await startServer(t)
  await t.rejects(post({ port, ca: other.ca }, PODS, asking), /certificate|self-signed/i)
})

/** Keeps the event loop from anything else. */
function block(ms: number): void {
  const end = performance.now() + ms
  while (performance.now() < end);
}

t.test('a server that cannot keep up asks to be asked again', async (t) => {
  const app = await startApp(t, { maxEventLoopDelayMs: 50 })
  let shed: Answer | undefined
  await until('a call is turned away', async () => {
    block(400)
    const answer = await post(app, PODS, asking)
    if (answer.status !== 200) shed = answer
    return shed !== undefined
  })
  t.equal(shed?.status, 503)
  t.equal(shed?.headers['retry-after'], '1', 'a whole number: the apiserver then asks again')
  const { error, message } = JSON.parse(shed?.body ?? '')
  t.equal(error, 'overloaded')
  t.match(message, / /)
  const labels = { outcome: 'invalid', reason: 'overloaded' }
  t.ok((sampleOf(await app.metrics(), 'ridealong_reviews_total', labels) ?? 0) >= 1)
  await until('it keeps up again', async () => (await post(app, PODS, asking)).status === 200)
})

t.test('a server that does not know yet what a namespace asks is asked again', async (t) => {
  for (const find of [
    () => Promise.reject(new NotKnownYet('what it asks')),
    () => {
      throw new NotKnownYet('what it asks')
    },
  ]) {
    const app = await startApp(t, { namespaces: { find } })
    const answer = await post(app, PODS, asking)
    t.equal(answer.status, 503)
    t.equal(answer.headers['retry-after'], '1')
    t.equal(JSON.parse(answer.body).error, 'not-known-yet')
    const labels = { outcome: 'invalid', reason: 'not-known-yet' }
    t.equal(sampleOf(await app.metrics(), 'ridealong_reviews_total', labels), 1)
  }
})

t.test('who prefers no pod to one without observers is told what is known', async (t) => {
  const before = await reviews({ outcome: 'denied', reason: 'unknown-metric' })
  const pod = podOf({ [KEYS.inject]: 'perf-sysstat, none-such', [KEYS.onError]: 'deny' })
  const verdict = verdictOf(await post(running, PODS, reviewOf(pod)))
  t.equal(verdict.allowed, false)
  t.equal(verdict.patch, undefined)
  t.equal(verdict.status?.code, 403)
  t.equal(
    verdict.status?.message,
    `ridealong: ${KEYS.inject} names "none-such"; known metrics are io-sysstat, perf-sysstat`,
  )
  t.equal(await reviews({ outcome: 'denied', reason: 'unknown-metric' }), before + 1)
})

t.test('who does not say so gets the pod, its status and a warning', async (t) => {
  const before = await reviews({ outcome: 'left', reason: 'unknown-metric' })
  const answer = await post(running, PODS, reviewOf(podOf({ [KEYS.inject]: 'none-such' })))
  const verdict = verdictOf(answer)
  t.equal(verdict.allowed, true)
  t.match(verdict.warnings, [/^ridealong: unknown-metric: .*none-such/])
  t.strictSame(
    operationsOf(answer).map(({ path }) => path),
    ['/metadata/annotations/ridealong.dev~1status'],
  )
  t.equal(await reviews({ outcome: 'left', reason: 'unknown-metric' }), before + 1)
})

const DENYING = podOf({ [KEYS.inject]: 'perf-sysstat', [KEYS.onError]: 'deny' })

/** A Map that cannot be asked. */
class Broken extends Map<string, Metric> {
  override get(): never {
    throw new Error('the catalog fell over')
  }

  override has(): never {
    throw new Error('the catalog fell over')
  }

  override values(): never {
    throw new Error('the catalog fell over')
  }
}

const BROKEN_NAMESPACE: Namespace = {
  name: 'quiet',
  enforce: 'privileged',
  privilege: 'restricted',
  requestedSince: undefined,
  limitRanges: [],
  quotas: [],
  get annotations(): never {
    throw new Error('the namespace fell over')
  },
}

const DEFECTS: readonly (readonly [string, Parameters<typeof startApp>[1]])[] = [
  ['the namespace fell over', { namespaces: { find: () => BROKEN_NAMESPACE } }],
  [
    'the catalog fell over',
    { catalog: () => ({ revision: '00000000', metrics: new Broken([['x', {} as Metric]]) }) },
  ],
  [
    'the source fell over',
    {
      namespaces: {
        async find() {
          throw new Error('the source fell over')
        },
      },
    },
  ],
]

for (const [what, parts] of DEFECTS) {
  t.test(`a defect of ours never refuses a pod: ${what}`, async (t) => {
    const app = await startApp(t, parts)
    const answer = await post(app, PODS, reviewOf(DENYING))
    t.equal(answer.status, 200)
    const verdict = verdictOf(answer)
    t.equal(verdict.allowed, true)
    t.equal(verdict.patch, undefined)
    t.match(verdict.warnings, [/^ridealong: internal-error: /])
    const labels = { outcome: 'left', reason: 'internal-error' }
    t.equal(sampleOf(await app.metrics(), 'ridealong_reviews_total', labels), 1)
    const [line, ...others] = linesFrom(app.lines, 0)
    t.strictSame(others, [])
    t.equal(line?.level, 50, 'an error')
    t.match(line, { reason: 'internal-error', err: { message: what, stack: /\n\s+at .*\.ts/ } })
  })
}

t.test('a defect of ours never refuses a namespace, and is counted', async (t) => {
  const metrics = new Broken([['x', {} as Metric]])
  const app = await startApp(t, { catalog: () => ({ revision: '00000000', metrics }) })
  const review = reviewOf(namespaceOf('lab', { [KEYS.inject]: 'perf-sysstat' }), { name: 'lab' })
  const verdict = verdictOf(await post(app, SPACES, review))
  t.equal(verdict.allowed, true)
  t.equal(verdict.patch, undefined)
  const [line] = linesFrom(app.lines, 0)
  t.equal(line?.level, 50)
  t.match(line, { err: { message: 'the catalog fell over', stack: /\n\s+at / } })
  const count = sampleOf(await app.metrics(), 'ridealong_reviews_total', {
    reason: 'internal-error',
  })
  t.equal(count, 1)
})

t.test('an injection is counted by metric, a dry run is not', async (t) => {
  const app = await startApp(t)
  const count = async (metric: string) =>
    sampleOf(await app.metrics(), 'ridealong_injections_total', { metric })
  const both = reviewOf(podOf({ [KEYS.inject]: 'perf-sysstat,io-sysstat' }))
  t.strictSame(addedNames(await post(app, PODS, both)), ['perf-sysstat', 'io-sysstat'])
  t.strictSame(addedNames(await post(app, PODS, asking)), ['perf-sysstat'])
  const dry = reviewOf(ASKING, { dryRun: true })
  t.strictSame(addedNames(await post(app, PODS, dry)), ['perf-sysstat'], 'answered like any other')
  t.equal(await count('perf-sysstat'), 2)
  t.equal(await count('io-sysstat'), 1)
  const labels = { outcome: 'injected', reason: 'injected' }
  t.equal(sampleOf(await app.metrics(), 'ridealong_reviews_total', labels), 3)
  t.equal(sampleOf(await app.metrics(), 'ridealong_review_duration_seconds_count'), 3)
})

t.test('no text of a user becomes a label', async (t) => {
  const app = await startApp(t)
  const mine = 'my-own-words'
  await post(app, PODS, reviewOf(podOf({ [KEYS.inject]: mine }), { operation: 'CREATE' }))
  await post(app, PODS, reviewOf(ASKING, { operation: mine, namespace: mine, name: mine }))
  await call({ port: app.port, ca: app.ca, path: `/${mine}`, method: 'POST' })
  t.notMatch(await app.metrics(), mine)
})

t.test('one line is logged per decision: names and words', async (t) => {
  const app = await startApp(t)
  const about = ['2bf81092-b31c-43bd-8cff-5901dbd750b9', 'quiet', 'lammps-0']
  const said: readonly (readonly [Json, readonly string[], RegExp])[] = [
    [reviewOf(ASKING), [...about, 'injected'], /\["perf-sysstat"\]/],
    [
      reviewOf(podOf({ [KEYS.inject]: 'none-such' }), { dryRun: true }),
      [...about, 'left', 'unknown-metric'],
      /known metrics are .*"dryRun":true|"dryRun":true.*known metrics are /,
    ],
    [
      reviewOf(podOf({ [KEYS.inject]: 'none-such', [KEYS.onError]: 'deny' })),
      [...about, 'denied', 'unknown-metric'],
      /known metrics are /,
    ],
    [reviewOf(podOf({})), [...about, 'left', 'not-asked'], /asks for a metric/],
    [reviewOf(ASKING, { operation: 'UPDATE' }), [...about, 'left', 'not-create'], /"seconds":0/],
    [reviewOf(null), [...about.slice(0, 2), 'left', 'invalid-pod'], /no metadata or no spec/],
  ]
  for (const [review, words, text] of said) {
    const start = app.lines.length
    await post(app, PODS, review)
    const [line = {}, ...others] = linesFrom(app.lines, start)
    t.strictSame(others, [])
    t.match(line, { level: 30, msg: 'pod', time: Number, seconds: Number })
    t.strictSame(
      words.filter((word) => !Object.values(line).includes(word)),
      [],
      'it names all of them',
    )
    t.match(app.lines[start], text)
  }
  const start = app.lines.length
  const space = namespaceOf('lab', { [KEYS.inject]: 'perf-sysstat' })
  await post(app, SPACES, reviewOf(space, { name: 'lab', namespace: 'lab' }))
  const [line = {}, ...others] = linesFrom(app.lines, start)
  t.strictSame(others, [])
  t.match(line, { msg: 'namespace', level: 30, outcome: 'armed' })
  t.ok(Object.values(line).includes('lab'))
})

t.test('a uid comes back as it was sent, whatever it is', async (t) => {
  const uids = ['"', '\\', 'a"b'.repeat(85), '\u0000\u001b\n', 'é€😀', '\u2028', '<script>']
  for (const uid of uids) {
    t.equal(verdictOf(await post(running, PODS, reviewOf(ASKING, { uid }))).uid, uid)
  }
})

t.test('what a pod holds never reaches the log', async (t) => {
  const app = await startApp(t)
  const secret = 'correct-horse-battery-staple'
  const spec = {
    containers: [
      { name: 'app', image: 'lammps', env: [{ name: 'TOKEN', value: secret }], args: [secret] },
    ],
  }
  const metadata = { labels: { secret }, uid: secret }
  for (const inject of ['perf-sysstat', 'none-such', 'false']) {
    const annotations = { [KEYS.inject]: inject, 'example.com/token': secret }
    const pod = podOf(annotations, { spec })
    const labelled = { ...pod, metadata: { ...Object(pod.metadata), ...metadata } }
    await post(app, PODS, reviewOf(labelled, { userInfo: { extra: { secret: [secret] } } }))
    await post(app, PODS, reviewOf({ ...labelled, spec: secret }))
    await post(app, SPACES, reviewOf(labelled, { name: 'lab' }))
  }
  await post(app, PODS, `{"secret":"${secret}"`)
  await post(app, PODS, `"${secret}`)
  await post(app, PODS, `{"secret":"${secret}"}`)
  t.ok(app.lines.length >= 6)
  t.strictSame(
    app.lines.filter((line) => line.includes(secret)),
    [],
  )
})

const LONG = 'x'.repeat(4000)
const CROWD = Array.from({ length: 300 }, (_, i) => ({ name: `rank-${i}`, image: 'lammps' }))
const LENGTHY: readonly (readonly [string, Json])[] = [
  [
    'names as long as Kubernetes allows',
    reviewOf(
      podOf({ [KEYS.inject]: 'perf-sysstat,io-sysstat' }, { metadata: { name: 'x'.repeat(253) } }),
      {
        namespace: 'x'.repeat(63),
      },
    ),
  ],
  ['a name that no object can have', reviewOf(podOf({}, { metadata: { name: LONG } }))],
  [
    'names in quotes',
    reviewOf(podOf({}, { metadata: { name: '"'.repeat(253) } }), {
      namespace: '"'.repeat(253),
      uid: '"'.repeat(253),
    }),
  ],
  ['a namespace that no object can have', reviewOf(podOf({}), { namespace: LONG })],
  ['a uid as long as it may be', reviewOf(podOf({}), { uid: LONG.slice(0, 256) })],
  ['an operation that does not exist', reviewOf(podOf({}), { operation: LONG })],
  ['a metric of many letters', reviewOf(podOf({ [KEYS.inject]: LONG }))],
  ['a mode of many letters', reviewOf(podOf({ [KEYS.inject]: 'io-sysstat', [KEYS.mode]: LONG }))],
  [
    'an option of many letters',
    reviewOf(
      podOf({
        [KEYS.inject]: 'io-sysstat',
        [`io-sysstat.ridealong.dev/${LONG}`]: LONG,
      }),
    ),
  ],
  [
    'a target that none of many containers is',
    reviewOf(
      podOf(
        { [KEYS.inject]: 'io-sysstat', [KEYS.targetContainer]: 'none' },
        { spec: { containers: CROWD } },
      ),
    ),
  ],
  [
    'control characters',
    reviewOf(podOf({}, { metadata: { name: '\u001b[2J\n\u0000'.repeat(300) } })),
  ],
]

for (const [what, review] of LENGTHY) {
  t.test(`a line of the log stays short and printable: ${what}`, async (t) => {
    const app = await startApp(t)
    for (const path of [PODS, SPACES]) {
      t.equal(verdictOf(await post(app, path, review)).allowed, true)
    }
    t.ok(app.lines.length >= 1)
    for (const line of app.lines) {
      t.ok(Buffer.byteLength(line) <= LONGEST_LINE, `${Buffer.byteLength(line)} bytes`)
      t.match(line, /^[\x20-\x7e]+\n$/)
      t.notMatch(line, '\\u001b')
    }
  })
}

const armed = { op: 'add', path: '/metadata/labels', value: { 'ridealong.dev/armed': 'true' } }

t.test(
  'a namespace that asks is labelled, and its author told that running pods are not touched',
  async (t) => {
    const before = await reviews({ outcome: 'armed' })
    const space = namespaceOf('lab', { [KEYS.inject]: 'perf-sysstat' })
    const answer = await post(running, SPACES, reviewOf(space, { name: 'lab', namespace: 'lab' }))
    t.strictSame(operationsOf(answer), [armed])
    t.match(verdictOf(answer).warnings, [/^ridealong: .*already run are not touched/])
    t.equal(await reviews({ outcome: 'armed' }), before + 1)
  },
)

t.test('a namespace that no longer asks loses the label', async (t) => {
  const labels = { 'ridealong.dev/armed': 'true', team: 'blue' }
  const oldObject = namespaceOf('lab', { [KEYS.inject]: 'perf-sysstat' }, labels)
  const object = namespaceOf('lab', {}, labels)
  const review = reviewOf(object, { name: 'lab', operation: 'UPDATE', oldObject })
  const answer = await post(running, SPACES, review)
  t.strictSame(operationsOf(answer), [
    { op: 'remove', path: '/metadata/labels/ridealong.dev~1armed' },
  ])
  t.equal(verdictOf(answer).warnings, undefined)
})

t.test('who annotates a namespace wrongly is warned there and then', async (t) => {
  const wrong: readonly (readonly [Json, RegExp])[] = [
    [
      { [KEYS.inject]: 'none-such' },
      /^ridealong: unknown-metric: .*"none-such"; known metrics are io-sysstat, perf-sysstat/,
    ],
    [
      { [KEYS.inject]: 'perf-sysstat', 'perf-sysstat.ridealong.dev/rate': '0' },
      /^ridealong: invalid-option: .*rate is "0"; it must be a whole number from 1 to 3600/,
    ],
    [
      { [KEYS.inject]: 'perf-sysstat', [KEYS.mode]: 'magic' },
      /^ridealong: invalid-option: .*mode is "magic"; it can be native or container/,
    ],
  ]
  for (const [annotations, warning] of wrong) {
    const answer = await post(
      running,
      SPACES,
      reviewOf(namespaceOf('lab', annotations), { name: 'lab' }),
    )
    const verdict = verdictOf(answer)
    t.equal(verdict.allowed, true)
    t.match(verdict.warnings, [warning])
    t.strictSame(operationsOf(answer), [armed], 'its pods are to say so too')
  }
})

t.test('an excluded namespace is not labelled, and its author told so', async (t) => {
  const space = namespaceOf('kube-system', { [KEYS.inject]: 'perf-sysstat' })
  const answer = await post(running, SPACES, reviewOf(space, { name: 'kube-system' }))
  t.strictSame(operationsOf(answer), [])
  t.match(verdictOf(answer).warnings, [/^ridealong: .*excludes this namespace/])
})

t.test('calls at once are each answered with their own uid', async (t) => {
  const uids = Array.from({ length: 200 }, (_, i) => `call-${i}`)
  const agent = keepAliveAgent(t, { maxSockets: 25 })
  const answers = await inTime(
    Promise.all(uids.map((uid) => post(running, PODS, reviewOf(ASKING, { uid }), agent))),
  )
  t.strictSame(answers === 'late' ? 'late' : answers.map((answer) => verdictOf(answer).uid), uids)
})

t.test('a metric above the privilege of a namespace is left out, and said', async (t) => {
  const catalog = await loadCatalog({})
  const metric = catalog.metrics.get('perf-sysstat') as Metric
  for (const privilege of PRIVILEGES) {
    const metrics = new Map([['deep', { ...metric, name: 'deep', privilege }]])
    const app = await startApp(t, { catalog: () => ({ revision: '00000000', metrics }) })
    const answer = await post(app, PODS, reviewOf(podOf({ [KEYS.inject]: 'deep' })))
    t.strictSame(addedNames(answer), privilege === 'restricted' ? ['deep'] : [])
  }
})

t.ok(NAMES.includes('127.0.0.1'), 'calls above go to a name that the certificate has')

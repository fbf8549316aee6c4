import t from 'tap'
import { KEYS } from '../../src/core/keys.ts'
import {
  ASKING,
  addedNames,
  call,
  type Json,
  namespaceOf,
  podOf,
  post,
  reviewOf,
  sampleOf,
  startApp,
  verdictOf,
} from './server.ts'

const PODS = '/mutate/pods'
const SPACES = '/mutate/namespaces'
const MAX_LINE_LENGTH = 1024

function linesFrom(lines: readonly string[], start: number): readonly Record<string, unknown>[] {
  return lines.slice(start).map((line) => JSON.parse(line))
}

const asking = JSON.stringify(reviewOf(ASKING))

t.test('an injection is counted by metric, but not in a dry run', async (t) => {
  const app = await startApp(t)
  const count = async (metric: string) =>
    sampleOf(await app.metrics(), 'ridealong_injections_total', { metric })
  const both = reviewOf(podOf({ [KEYS.inject]: 'perf-sysstat,io-sysstat' }))
  t.strictSame(addedNames(await post(app, PODS, both)), ['perf-sysstat', 'io-sysstat'])
  t.strictSame(addedNames(await post(app, PODS, asking)), ['perf-sysstat'])
  const dry = reviewOf(ASKING, { dryRun: true })
  t.strictSame(
    addedNames(await post(app, PODS, dry)),
    ['perf-sysstat'],
    'a dry run has the same answer',
  )
  t.equal(await count('perf-sysstat'), 2)
  t.equal(await count('io-sysstat'), 1)
  const labels = { outcome: 'injected', reason: 'injected' }
  t.equal(sampleOf(await app.metrics(), 'ridealong_reviews_total', labels), 3)
  t.equal(sampleOf(await app.metrics(), 'ridealong_review_duration_seconds_count'), 3)
})

t.test('a metric that an injected pod lacks is counted and logged with its reason', async (t) => {
  const app = await startApp(t)
  const partial = podOf({ [KEYS.inject]: 'perf-sysstat,mpi-trace,nobody' })
  await post(app, PODS, reviewOf(partial, { dryRun: true }))
  t.strictSame(addedNames(await post(app, PODS, reviewOf(partial))), ['perf-sysstat'])
  for (const [metric, reason] of [
    ['mpi-trace', 'tools-not-allowed'],
    ['', 'unknown-metric'],
  ] as const) {
    const labels = { metric, reason }
    t.equal(sampleOf(await app.metrics(), 'ridealong_metrics_left_total', labels), 1, reason)
  }
  const line = linesFrom(app.lines, 0).find(({ without }) => without !== undefined)
  t.match(line, { outcome: 'injected', metrics: ['perf-sysstat'] })
  t.strictSame(line?.without, { nobody: 'unknown-metric', 'mpi-trace': 'tools-not-allowed' })
})

t.test('no label of a Prometheus metric contains text of a user', async (t) => {
  const app = await startApp(t)
  const mine = 'my-own-words'
  await post(app, PODS, reviewOf(podOf({ [KEYS.inject]: mine }), { operation: 'CREATE' }))
  await post(app, PODS, reviewOf(podOf({ [KEYS.inject]: `perf-sysstat,${mine}` })))
  await post(app, PODS, reviewOf(ASKING, { operation: mine, namespace: mine, name: mine }))
  await call({ port: app.port, ca: app.ca, path: `/${mine}`, method: 'POST' })
  t.notMatch(await app.metrics(), mine)
})

t.test('each decision is logged in one line with its names, outcome and reason', async (t) => {
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
    [reviewOf(podOf({})), [...about, 'left', 'not-asked'], /its namespace requests a metric/],
    [reviewOf(ASKING, { operation: 'UPDATE' }), [...about, 'left', 'not-create'], /"seconds":\d/],
    [reviewOf(null), [...about.slice(0, 2), 'left', 'invalid-pod'], /must have metadata/],
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
      'the line has all values',
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

t.test('the log never contains values of a pod that could be secret', async (t) => {
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
  ['a name that is too long', reviewOf(podOf({}, { metadata: { name: LONG } }))],
  [
    'names that consist of quotes',
    reviewOf(podOf({}, { metadata: { name: '"'.repeat(253) } }), {
      namespace: '"'.repeat(253),
      uid: '"'.repeat(253),
    }),
  ],
  ['a namespace that is too long', reviewOf(podOf({}), { namespace: LONG })],
  ['a uid of the maximum length', reviewOf(podOf({}), { uid: LONG.slice(0, 256) })],
  ['an operation that does not exist', reviewOf(podOf({}), { operation: LONG })],
  ['a long metric', reviewOf(podOf({ [KEYS.inject]: LONG }))],
  ['a long mode', reviewOf(podOf({ [KEYS.inject]: 'io-sysstat', [KEYS.mode]: LONG }))],
  [
    'a long option',
    reviewOf(
      podOf({
        [KEYS.inject]: 'io-sysstat',
        [`io-sysstat.ridealong.dev/${LONG}`]: LONG,
      }),
    ),
  ],
  [
    'a missing target among many containers',
    reviewOf(
      podOf(
        { [KEYS.inject]: 'io-sysstat', [KEYS.targetContainer]: 'none' },
        { spec: { containers: CROWD } },
      ),
    ),
  ],
  [
    'control characters in its name',
    reviewOf(podOf({}, { metadata: { name: '\u001b[2J\n\u0000'.repeat(300) } })),
  ],
]

for (const [what, review] of LENGTHY) {
  t.test(`the log line of an object with ${what} is short and printable`, async (t) => {
    const app = await startApp(t)
    for (const path of [PODS, SPACES]) {
      t.equal(verdictOf(await post(app, path, review)).allowed, true)
    }
    t.ok(app.lines.length >= 1)
    for (const line of app.lines) {
      t.ok(Buffer.byteLength(line) <= MAX_LINE_LENGTH, `${Buffer.byteLength(line)} bytes`)
      t.match(line, /^[\x20-\x7e]+\n$/)
      t.notMatch(line, '\\u001b')
    }
  })
}

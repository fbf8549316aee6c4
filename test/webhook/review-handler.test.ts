import t from 'tap'
import { loadCatalog } from '../../src/catalog/load.ts'
import { type Metric, PRIVILEGES } from '../../src/core/catalog.ts'
import { KEYS } from '../../src/core/keys.ts'
import { type Namespace, readNamespace } from '../../src/core/namespaces/namespace.ts'
import { NotKnownYet } from '../../webhook/namespaces.ts'
import {
  ASKING,
  addedNames,
  type Json,
  namespaceOf,
  operationsOf,
  podOf,
  post,
  reviewOf,
  sampleOf,
  startApp,
  startServer,
  verdictOf,
} from './server.ts'

const PODS = '/mutate/pods'
const SPACES = '/mutate/namespaces'

const running = await startServer(t)

async function reviews(labels: Json): Promise<number> {
  return sampleOf(await running.metrics(), 'ridealong_reviews_total', labels) ?? 0
}

function linesFrom(lines: readonly string[], start: number): readonly Record<string, unknown>[] {
  return lines.slice(start).map((line) => JSON.parse(line))
}

const asking = JSON.stringify(reviewOf(ASKING))

t.test('the annotation of a namespace requests observers for its pods', async (t) => {
  const answer = await post(running, PODS, reviewOf(podOf({}), { namespace: 'hpc' }))
  t.strictSame(addedNames(answer), ['perf-sysstat'])
  t.strictSame(operationsOf(await post(running, PODS, reviewOf(podOf({})))), [])
})

t.test('pods of an excluded namespace are not changed', async (t) => {
  const answer = await post(running, PODS, reviewOf(ASKING, { namespace: 'kube-system' }))
  t.strictSame(operationsOf(answer), [])
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
  t.test(`an invalid pod (${what}) is allowed unchanged`, async (t) => {
    const verdict = verdictOf(await post(running, PODS, reviewOf(object)))
    t.equal(verdict.allowed, true)
    t.equal(verdict.patch, undefined)
    t.equal(verdict.patchType, undefined)
    const space = verdictOf(await post(running, SPACES, reviewOf(object)))
    t.equal(space.allowed, true)
  })
}

t.test('names of JavaScript object properties are not metrics', async (t) => {
  for (const name of ['constructor', 'toString', '__proto__', 'hasOwnProperty']) {
    const verdict = verdictOf(
      await post(running, PODS, reviewOf(podOf({ [KEYS.inject]: name, [KEYS.onError]: 'deny' }))),
    )
    t.equal(verdict.allowed, false, `a pod that requests ${name} is denied`)
    t.match(verdict.status?.message, `"${name}" is not a metric of the catalog; known metrics are`)
  }
})

t.test(
  'a server that does not know the namespace yet answers 503, so the call is repeated',
  async (t) => {
    for (const find of [
      () => Promise.reject(new NotKnownYet('its annotations')),
      () => {
        throw new NotKnownYet('its annotations')
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
  },
)

t.test(
  'an unknown metric with on-error: deny denies the pod, with a list of known metrics',
  async (t) => {
    const before = await reviews({ outcome: 'denied', reason: 'unknown-metric' })
    const pod = podOf({ [KEYS.inject]: 'perf-sysstat, none-such', [KEYS.onError]: 'deny' })
    const verdict = verdictOf(await post(running, PODS, reviewOf(pod)))
    t.equal(verdict.allowed, false)
    t.equal(verdict.patch, undefined)
    t.equal(verdict.status?.code, 403)
    t.equal(
      verdict.status?.message,
      `ridealong: annotation ${KEYS.inject}: "none-such" is not a metric of the catalog; ` +
        'known metrics are cpu-profile, gpu, gpu-nvidia, io-sysstat, mpi-trace, nccl-ras, ' +
        'network, perf-sysstat, pressure, python-profile, torch-collectives, torch-trace, vitals',
    )
    t.equal(await reviews({ outcome: 'denied', reason: 'unknown-metric' }), before + 1)
  },
)

t.test('a pod with an unknown metric gets a status annotation and a warning', async (t) => {
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

/** A Map whose methods throw. */
class Broken extends Map<string, Metric> {
  override get(): never {
    throw new Error('defect in the catalog')
  }

  override has(): never {
    throw new Error('defect in the catalog')
  }

  override values(): never {
    throw new Error('defect in the catalog')
  }
}

const BROKEN_NAMESPACE: Namespace = {
  name: 'quiet',
  enforce: 'privileged',
  enforceVersion: undefined,
  privilege: 'restricted',
  allowsTools: false,
  revision: undefined,
  movedFrom: undefined,
  requestedSince: undefined,
  limitRanges: [],
  quotas: [],
  get annotations(): never {
    throw new Error('defect in the namespace')
  },
}

const DEFECTS: readonly (readonly [string, Parameters<typeof startApp>[1]])[] = [
  ['defect in the namespace', { namespaces: { find: () => BROKEN_NAMESPACE } }],
  [
    'defect in the catalog',
    {
      catalog: () => ({
        revision: '00000000',
        metrics: new Broken([['x', {} as Metric]]),
        defaultMetrics: [],
      }),
    },
  ],
  [
    'defect in the source',
    {
      namespaces: {
        async find() {
          throw new Error('defect in the source')
        },
      },
    },
  ],
]

for (const [what, parts] of DEFECTS) {
  t.test(`a ${what} never denies a pod`, async (t) => {
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
    t.equal(line?.level, 50, 'the log line is an error')
    t.match(line, { reason: 'internal-error', err: { message: what, stack: /\n\s+at .*\.ts/ } })
  })
}

t.test('a defect of the webhook never denies a namespace, and is counted', async (t) => {
  const metrics = new Broken([['x', {} as Metric]])
  const app = await startApp(t, {
    catalog: () => ({ revision: '00000000', metrics, defaultMetrics: [] }),
  })
  const review = reviewOf(namespaceOf('lab', { [KEYS.inject]: 'perf-sysstat' }), { name: 'lab' })
  const verdict = verdictOf(await post(app, SPACES, review))
  t.equal(verdict.allowed, true)
  t.equal(verdict.patch, undefined)
  const [line] = linesFrom(app.lines, 0)
  t.equal(line?.level, 50)
  t.match(line, { err: { message: 'defect in the catalog', stack: /\n\s+at / } })
  const count = sampleOf(await app.metrics(), 'ridealong_reviews_total', {
    reason: 'internal-error',
  })
  t.equal(count, 1)
})

const armed = { op: 'add', path: '/metadata/labels', value: { 'ridealong.dev/armed': 'true' } }

t.test(
  'an annotated namespace is labelled, with a warning that running pods are not changed',
  async (t) => {
    const before = await reviews({ outcome: 'armed' })
    const space = namespaceOf('lab', { [KEYS.inject]: 'perf-sysstat' })
    const answer = await post(running, SPACES, reviewOf(space, { name: 'lab', namespace: 'lab' }))
    t.strictSame(operationsOf(answer), [armed])
    t.match(verdictOf(answer).warnings, [/^ridealong: .*running pods are not changed/])
    t.equal(await reviews({ outcome: 'armed' }), before + 1)
  },
)

t.test('a namespace without the annotation loses the label', async (t) => {
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

t.test('an invalid annotation of a namespace causes a warning about the namespace', async (t) => {
  const wrong: readonly (readonly [Json, RegExp])[] = [
    [
      { [KEYS.inject]: 'none-such' },
      /^ridealong: unknown-metric: .*"none-such" is .*; known metrics are cpu-profile, gpu, gpu-nvidia, io-sysstat/,
    ],
    [
      { [KEYS.inject]: 'perf-sysstat', 'perf-sysstat.ridealong.dev/rate': '0' },
      /^ridealong: invalid-option: .*rate: "0" is not an integer from 1 to 3600/,
    ],
    [
      { [KEYS.inject]: 'perf-sysstat', [KEYS.mode]: 'magic' },
      /^ridealong: invalid-option: .*mode: "magic" is not one of native, container/,
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
    t.strictSame(operationsOf(answer), [armed], 'the pods of an armed namespace get a reason')
  }
})

t.test('an excluded namespace is not labelled, with a warning', async (t) => {
  const space = namespaceOf('kube-system', { [KEYS.inject]: 'perf-sysstat' })
  const answer = await post(running, SPACES, reviewOf(space, { name: 'kube-system' }))
  t.strictSame(operationsOf(answer), [])
  t.match(verdictOf(answer).warnings, [/^ridealong: .*has excluded this namespace/])
})

t.test('a metric above the privilege of a namespace is not injected', async (t) => {
  const catalog = await loadCatalog({})
  const metric = catalog.metrics.get('perf-sysstat') as Metric
  for (const privilege of PRIVILEGES) {
    const metrics = new Map([['deep', { ...metric, name: 'deep', privilege }]])
    const app = await startApp(t, {
      catalog: () => ({ revision: '00000000', metrics, defaultMetrics: [] }),
    })
    const answer = await post(app, PODS, reviewOf(podOf({ [KEYS.inject]: 'deep' })))
    t.strictSame(addedNames(answer), privilege === 'restricted' ? ['deep'] : [])
  }
})

t.test('the version of the apiserver decides whether an observer may be root', async (t) => {
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' }
  const namespaces = { find: () => readNamespace('quiet', { metadata: { labels } }) }
  const securityContext = { capabilities: { drop: ['ALL'] } }
  const containers = [{ name: 'app', image: 'lammps', securityContext }]
  const pod = podOf({ [KEYS.inject]: 'perf-sysstat' }, { spec: { hostUsers: false, containers } })
  for (const [version, names] of [
    [36, ['perf-sysstat']],
    [30, []],
    [undefined, []],
  ] as const) {
    const app = await startApp(t, { namespaces, apiserverVersion: () => version })
    t.strictSame(addedNames(await post(app, PODS, reviewOf(pod))), names, `version ${version}`)
  }
})

import t from 'tap'
import type { Metric, Privilege } from '../../../src/core/catalog.ts'
import { REASONS, type Reason } from '../../../src/core/reasons.ts'
import { askingPod, CATALOG, type Json, type Place, podOf, ride, type Texts } from './build.ts'
import {
  container,
  INJECTED,
  observer,
  podInCase,
  REASON_CASES,
  RESTRICTED,
  type ReasonCase,
  sidecar,
} from './reason-cases.ts'

const DENY = { 'ridealong.dev/on-error': 'deny' }
function rideOf(one: ReasonCase, more: Texts = {}) {
  return ride(podInCase(one, more), one.place)
}

const reasons = Object.keys(REASONS) as Reason[]

t.test('a pod that requests observers is injected if no rule prevents this', async (t) => {
  const { word, allowed, status, warnings } = rideOf({})
  t.equal(word, 'injected')
  t.equal(allowed, true)
  t.strictSame(warnings, [])
  t.strictSame(status, {
    outcome: 'injected',
    metrics: ['perf-sysstat'],
    mode: 'native',
    shareProcessNamespace: 'absent',
    counters: 'all',
    catalog: '3f2a91c0',
  })
})

for (const reason of reasons) {
  t.test(
    `a pod that gets no observers for the reason ${reason} is allowed by default`,
    async (t) => {
      const { word, outcome, allowed, status, isPatched, warnings, message } = rideOf(
        REASON_CASES[reason],
      )
      t.equal(word, reason)
      t.equal(outcome, 'left')
      t.equal(allowed, true)
      t.not(message, '', 'the decision has a message')
      t.equal(
        isPatched,
        REASONS[reason].written,
        'a pod is patched only to write the status annotation',
      )
      if (REASONS[reason].written) {
        t.match(
          status,
          { outcome: 'left', reason, message },
          'the status annotation has the reason',
        )
      }
      const { warns } = REASONS[reason]
      t.equal(warnings.length, warns ? 1 : 0)
      if (warns) t.match(warnings[0], `ridealong: ${reason}: `)
    },
  )

  const isDenied = REASONS[reason].canDeny
  const verb = isDenied ? 'denies' : 'allows'
  t.test(`on-error: deny ${verb} a pod with the reason ${reason}`, async (t) => {
    const denied = rideOf(REASON_CASES[reason], DENY)
    t.equal(denied.word, reason)
    t.equal(denied.outcome, isDenied ? 'denied' : 'left')
    t.equal(denied.allowed, !isDenied)
    if (isDenied) t.equal(denied.isPatched, false, 'a denied pod has no patch')
  })

  t.test(`on-error: admit allows a pod with the reason ${reason}`, async (t) => {
    const admitted = rideOf(REASON_CASES[reason], { 'ridealong.dev/on-error': 'admit' })
    t.equal(admitted.outcome, 'left')
    t.equal(admitted.allowed, true)
  })
}

t.test('a denied pod gets the HTTP status 403 and a message with the reason', async (t) => {
  const { answer, message } = rideOf(REASON_CASES['unknown-metric'], DENY)
  t.strictSame(answer.response.response, {
    uid: '705ab4f5-6393-11e8-b7cc-42010a800002',
    allowed: false,
    status: { code: 403, reason: 'Forbidden', message: `ridealong: ${message}` },
  })
  t.match(message, 'perf-hwcounters')
})

t.test(
  'a pod with an invalid on-error gets no observers, for the reason invalid-option',
  async (t) => {
    for (const word of ['Deny', 'refuse', '', 'deny, admit']) {
      const { word: reason, allowed } = rideOf({}, { 'ridealong.dev/on-error': word })
      t.equal(reason, 'invalid-option', `on-error: "${word}"`)
      t.equal(allowed, true)
    }
  },
)

t.test('of several reasons, only the first in a fixed order is reported', async (t) => {
  // Each step removes the first reason of the step before.
  const order: readonly Reason[] = [
    'not-create',
    'excluded-namespace',
    'mirror-pod',
    'host-pid',
    'windows',
    'operator-conflict',
    'unknown-target-container',
    'name-taken',
    'pod-security',
    'observer-unavailable',
  ]
  for (const [place, reason] of order.entries()) {
    const all = order.slice(place).map((later) => REASON_CASES[later])
    const together = all.reduce<ReasonCase>(
      (sum, { spec, annotations, metadata, place }) => ({
        spec: { ...sum.spec, ...spec },
        annotations: { ...sum.annotations, ...annotations },
        metadata: { ...sum.metadata, ...metadata },
        place: { ...sum.place, ...place },
      }),
      {},
    )
    t.equal(rideOf(together).word, reason)
  }
})

t.test('if a pod requests no observers, no other reason is reported', async (t) => {
  const silent: readonly Reason[] = [
    'host-pid',
    'windows',
    'operator-conflict',
    'name-taken',
    'pod-security',
    'too-large',
    'unknown-target-container',
    'invalid-option',
  ]
  for (const reason of silent) {
    for (const inject of ['', 'false']) {
      const { word, isPatched } = rideOf(REASON_CASES[reason], { 'ridealong.dev/inject': inject })
      t.match(
        word,
        /^(not-asked|opted-out)$/,
        `inject: "${inject}" in a pod with the cause of ${reason}`,
      )
      t.equal(isPatched, false)
    }
  }
})

t.test('an invalid request is reported before an operator conflict', async (t) => {
  const metadata = { labels: { 'workflows.argoproj.io/workflow': 'w' } }
  t.equal(rideOf({ ...REASON_CASES['unknown-metric'], metadata }).word, 'unknown-metric')
  t.equal(rideOf({ ...REASON_CASES['invalid-option'], metadata }).word, 'invalid-option')
})

t.test('observers are added only when a pod is created', async (t) => {
  const rows: Place['review'][] = [
    { operation: 'UPDATE' },
    { operation: 'DELETE' },
    { operation: 'CONNECT' },
    { operation: 'CREATE', subResource: 'eviction' },
    { operation: 'CREATE', subResource: 'binding' },
    { operation: 'UPDATE', subResource: 'ephemeralcontainers' },
  ]
  for (const review of rows) {
    const { word, isPatched } = ride(askingPod(), { review: review ?? {} })
    t.equal(word, 'not-create', JSON.stringify(review))
    t.equal(isPatched, false)
  }
})

t.test(
  'an excluded namespace is recognised by the request, not by metadata.namespace of the pod',
  async (t) => {
    const inRequest = (namespace: string, metadata: Json) =>
      ride(podOf({ 'ridealong.dev/inject': 'perf-sysstat' }, {}, metadata), {
        review: { namespace },
        excluded: ['kube-system'],
      }).word
    t.equal(inRequest('kube-system', {}), 'excluded-namespace')
    t.equal(inRequest('kube-system', { namespace: 'hpc' }), 'excluded-namespace')
    t.equal(inRequest('hpc', { namespace: 'kube-system' }), 'injected')
    t.equal(inRequest('hpc', {}), 'injected')
  },
)

t.test('a Windows pod is recognised by its os field or its node selector', async (t) => {
  const rows: [string, Json][] = [
    ['windows', { os: { name: 'windows' } }],
    ['windows', { nodeSelector: { 'kubernetes.io/os': 'windows' } }],
    ['windows', { nodeSelector: { 'beta.kubernetes.io/os': 'windows' } }],
    ['injected', { os: { name: 'linux' } }],
    ['injected', { nodeSelector: { 'kubernetes.io/os': 'linux' } }],
    ['injected', { nodeSelector: { disk: 'windows' } }],
    ['injected', { os: {}, nodeSelector: {} }],
  ]
  for (const [word, spec] of rows) t.equal(ride(askingPod(spec)).word, word, JSON.stringify(spec))
})

t.test(
  'hostNetwork, hostIPC, hostPID: false and hostUsers: false do not prevent an injection',
  async (t) => {
    t.equal(ride(askingPod({ hostPID: false })).word, 'injected')
    t.equal(ride(askingPod({ hostNetwork: true, hostIPC: true })).word, 'injected')
    t.equal(ride(askingPod({ hostUsers: false })).word, 'injected')
  },
)

t.test(
  "the target is the container in target-container, or kubectl's default, or the first",
  async (t) => {
    const spec = {
      initContainers: [container('setup'), sidecar('proxy')],
      containers: [container('app'), container('lammps')],
    }
    const named = (name: string) => ({ 'ridealong.dev/target-container': name })
    const usual = (name: string) => ({ 'kubectl.kubernetes.io/default-container': name })
    const rows: [string, Texts, string][] = [
      ['there is no annotation', {}, 'app'],
      ['a container is named', named('lammps'), 'lammps'],
      ['there are blanks around the name', named(' lammps '), 'lammps'],
      ['a native sidecar is named', named('proxy'), 'proxy'],
      ['kubectl has a default container', usual('lammps'), 'lammps'],
      ["kubectl's default does not exist", usual('nobody'), 'app'],
      ["kubectl's default is an init container", usual('setup'), 'app'],
      ["kubectl's default is empty", usual(''), 'app'],
      [
        "target-container and kubectl's default differ",
        { ...named('app'), ...usual('lammps') },
        'app',
      ],
    ]
    for (const [name, annotations, target] of rows) {
      const { answer } = ride(askingPod(spec, annotations))
      t.match(answer.decision, { outcome: 'injected', target }, `the target if ${name}`)
    }
    for (const wrong of [
      'lammp',
      'LAMMPS',
      'setup',
      '',
      'app,lammps',
      'perf-sysstat',
      '__proto__',
    ]) {
      const { word, message } = ride(askingPod(spec, named(wrong)))
      t.equal(word, 'unknown-target-container', `target-container: "${wrong}"`)
      for (const known of ['app', 'lammps', 'proxy']) t.match(message, `"${known}"`)
      t.notMatch(message, /"setup"(,|$)/, 'the message does not list init containers')
    }
  },
)

t.test(
  'a pod gets no observers if a container of any kind has the name of a requested metric',
  async (t) => {
    const rows: [string, Json][] = [
      ['an ordinary container', { containers: [container('app'), container('perf-sysstat')] }],
      ['an init container', { initContainers: [container('perf-sysstat')] }],
      ['a native sidecar', { initContainers: [sidecar('perf-sysstat')] }],
    ]
    for (const [name, spec] of rows) {
      const { word, message } = ride(askingPod(spec))
      t.equal(word, 'name-taken', `${name} has the name`)
      t.match(message, 'perf-sysstat')
    }
    t.equal(
      ride(askingPod({ initContainers: [sidecar('io-sysstat')] })).word,
      'injected',
      'a container may have the name of a metric that is not requested',
    )
  },
)

/** Returns a pod with the reason of a case, which requests io-sysstat too. */
function withOther({ spec, annotations, metadata }: ReasonCase, more: Texts = {}): Json {
  const { 'ridealong.dev/inject': metric = 'perf-sysstat' } = annotations ?? {}
  const inject = { 'ridealong.dev/inject': `${metric},io-sysstat`, ...more }
  return podOf({ ...annotations, ...inject }, spec, metadata)
}

const LEAVES_METRIC = reasons.filter((reason) => REASONS[reason].leavesMetric)

t.test('a reason of one metric leaves this metric, and the others are added', async (t) => {
  t.strictSame(LEAVES_METRIC.toSorted(), [
    'invalid-option',
    'limit-range',
    'name-taken',
    'no-image-volumes',
    'observer-unavailable',
    'path-taken',
    'pod-security',
    'privilege',
    'quota',
    'tools-not-allowed',
    'unknown-metric',
    'variable-taken',
  ])
  for (const reason of LEAVES_METRIC) {
    // These reasons apply to each metric of the catalog; they have tests of their own below.
    if (['limit-range', 'quota', 'pod-security', 'observer-unavailable'].includes(reason)) continue
    const { place } = REASON_CASES[reason]
    const ridden = ride(withOther(REASON_CASES[reason]), withIo(place))
    t.equal(ridden.word, 'injected', reason)
    t.strictSame(Object.keys(ridden.observers), ['io-sysstat'], reason)
    t.strictSame(Object.values(ridden.left), [reason])
    const { left } = ridden.status as { left: readonly Texts[] }
    const [metric] = Object.keys(ridden.left)
    t.strictSame([left[0]?.metric, left[0]?.reason], [metric, reason])
    t.match(ridden.warnings[0], `ridealong: without ${metric}: ${reason}: `)
    const denied = ride(withOther(REASON_CASES[reason], DENY), withIo(place))
    t.equal(denied.outcome, 'denied', reason)
    t.equal(denied.word, reason)
    const again = ride(ridden.pod, withIo(place))
    t.equal(again.word, 'already-injected', reason)
    t.equal(again.isPatched, false)
  }
})

/** Adds io-sysstat to the catalog of a place, if it has a catalog of its own. */
function withIo({ catalog, ...place }: Place = {}): Place {
  if (catalog === undefined) return place
  const io = CATALOG.metrics.get('io-sysstat') as Metric
  return {
    ...place,
    catalog: { ...catalog, metrics: new Map([...catalog.metrics, [io.name, io]]) },
  }
}

t.test('rules of the namespace leave only the metrics that they concern', async (t) => {
  const inject = { 'ridealong.dev/inject': 'perf-sysstat,trace-stat' }
  const labels = { ...RESTRICTED, 'ridealong.dev/privilege': 'privileged' }
  const user = { securityContext: { runAsUser: 1000, runAsNonRoot: true } }
  const restricted = ride(askingPod(user, inject), { labels })
  t.strictSame(Object.keys(restricted.observers), ['perf-sysstat'])
  t.strictSame(restricted.left, { 'trace-stat': 'pod-security' })
  const place = { labels: { 'ridealong.dev/privilege': 'privileged' } }
  const held = { ...place, heldImages: ['registry.example/tracer:1'] }
  const unavailable = ride(askingPod({}, inject), held)
  t.strictSame(Object.keys(unavailable.observers), ['trace-stat'])
  t.strictSame(unavailable.left, { 'perf-sysstat': 'observer-unavailable' })
})

t.test('a pod without any observer is left for the reason of the earliest rule', async (t) => {
  const inject = { 'ridealong.dev/inject': 'trace-stat,perf-sysstat,nobody' }
  const spec = { containers: [container('app'), container('perf-sysstat')] }
  t.equal(ride(askingPod(spec, inject)).word, 'unknown-metric')
  const known = { 'ridealong.dev/inject': 'trace-stat,perf-sysstat' }
  t.equal(ride(askingPod(spec, known)).word, 'name-taken')
  const { word, status } = ride(askingPod({}, { 'ridealong.dev/inject': 'trace-stat' }))
  t.equal(word, 'privilege')
  t.match(status, { outcome: 'left', reason: 'privilege' })
  t.notOk('left' in (status ?? {}))
})

const USER = { securityContext: { runAsUser: 1000 } }

/** The outcome or reason, a description, the level of the namespace, and fields of the pod. */
const LEVELS: [string, string, string | undefined, Json][] = [
  ['injected', 'a namespace without a level allows root', undefined, {}],
  ['injected', 'privileged allows root', 'privileged', {}],
  ['injected', 'baseline allows root', 'baseline', {}],
  ['pod-security', 'restricted forbids root', 'restricted', {}],
  ['injected', 'restricted allows a user other than root', 'restricted', USER],
  [
    'injected',
    'restricted allows runAsNonRoot',
    'restricted',
    { securityContext: { runAsNonRoot: true } },
  ],
  ['pod-security', 'an unknown level counts as restricted', 'Baseline', {}],
  ['injected', 'an unknown level allows a user other than root', 'Baseline', USER],
  ['pod-security', 'an empty level counts as restricted', '', {}],
  [
    'pod-security',
    'restricted forbids root with capabilities in a separate user namespace',
    'restricted',
    { hostUsers: false },
  ],
  [
    'injected',
    'restricted allows root without capabilities in a separate user namespace',
    'restricted',
    {
      hostUsers: false,
      containers: [container('app', { securityContext: { capabilities: { drop: ['ALL'] } } })],
    },
  ],
  [
    'pod-security',
    'restricted forbids root without capabilities in the user namespace of the host',
    'restricted',
    {
      containers: [container('app', { securityContext: { capabilities: { drop: ['ALL'] } } })],
    },
  ],
]

const ISOLATED = {
  hostUsers: false,
  containers: [container('app', { securityContext: { capabilities: { drop: ['ALL'] } } })],
}

/** The outcome or reason, labels of the namespace, and the version of the apiserver. */
const VERSIONS: [string, Texts, number | undefined][] = [
  ['injected', { 'pod-security.kubernetes.io/enforce-version': 'v1.35' }, 36],
  ['pod-security', { 'pod-security.kubernetes.io/enforce-version': 'v1.34' }, 36],
  ['injected', { 'pod-security.kubernetes.io/warn-version': 'v1.34' }, 36],
  ['pod-security', {}, 34],
  ['pod-security', {}, undefined],
]

t.test('the enforced Pod Security level applies to the observer', async (t) => {
  for (const [word, name, enforce, spec] of LEVELS) {
    const labels: Texts =
      enforce === undefined ? {} : { 'pod-security.kubernetes.io/enforce': enforce }
    t.equal(ride(askingPod(spec), { labels }).word, word, name)
  }
  const told = ride(askingPod(), { labels: RESTRICTED }).message
  t.match(
    told,
    /"hpc" enforces .* restricted.*perf-sysstat.*root/,
    'the message names namespace, level and metric',
  )
  for (const [word, more, apiserverVersion] of VERSIONS) {
    const place = { labels: { ...RESTRICTED, ...more }, apiserverVersion }
    const found = ride(askingPod(ISOLATED), place).word
    t.equal(found, word, `root in a separate user namespace: ${JSON.stringify(place)}`)
  }
  const audit = { 'pod-security.kubernetes.io/audit': 'restricted' }
  t.equal(
    ride(askingPod(), { labels: audit }).word,
    'injected',
    'a level that is only audited does not apply',
  )
})

t.test(
  "the cluster's Pod Security default applies to a namespace without a Pod Security label",
  async (t) => {
    const spec = { containers: [container('app', { securityContext: { runAsUser: 0 } })] }
    const rows: [string, Texts, Privilege | undefined][] = [
      ['injected', {}, undefined],
      ['injected', {}, 'privileged'],
      ['injected', {}, 'baseline'],
      ['pod-security', {}, 'restricted'],
      ['injected', { 'pod-security.kubernetes.io/enforce': 'privileged' }, 'restricted'],
      ['pod-security', RESTRICTED, 'privileged'],
    ]
    for (const [word, labels, podSecurityDefault] of rows) {
      const place = podSecurityDefault === undefined ? { labels } : { labels, podSecurityDefault }
      const { word: found } = rideOf({ spec, place })
      t.equal(found, word, JSON.stringify(place))
    }
    const { message } = rideOf({ spec, place: { podSecurityDefault: 'restricted' } })
    t.match(message, /^namespace "hpc" enforces .* restricted \(the cluster's default\), which/)
    const metrics = { 'ridealong.dev/inject': 'trace-stat' }
    const labels = { 'ridealong.dev/privilege': 'privileged' }
    const place = { labels, podSecurityDefault: 'baseline' } as const
    t.equal(
      rideOf({ annotations: metrics, place }).word,
      'pod-security',
      'the default baseline forbids trace-stat',
    )
  },
)

t.test("the namespace's label grants the privilege that a metric needs", async (t) => {
  const rows: [string, string | undefined, string][] = [
    ['perf-sysstat', undefined, 'injected'],
    ['perf-sysstat', 'restricted', 'injected'],
    ['perf-sysstat', 'nonsense', 'injected'],
    ['root-stat', undefined, 'privilege'],
    ['root-stat', 'restricted', 'privilege'],
    ['root-stat', 'baseline', 'injected'],
    ['root-stat', 'privileged', 'injected'],
    ['root-stat', 'Privileged', 'privilege'],
    ['trace-stat', undefined, 'privilege'],
    ['trace-stat', 'baseline', 'privilege'],
    ['trace-stat', 'privileged', 'injected'],
    ['trace-stat', '', 'privilege'],
  ]
  for (const [metric, granted, word] of rows) {
    const labels: Texts = granted === undefined ? {} : { 'ridealong.dev/privilege': granted }
    const pod = askingPod({}, { 'ridealong.dev/inject': metric })
    t.equal(
      ride(pod, { labels }).word,
      word,
      `${metric} in a namespace with the privilege ${granted}`,
    )
  }
  const annotated = {
    'ridealong.dev/inject': 'trace-stat',
    'ridealong.dev/privilege': 'privileged',
  }
  t.equal(ride(podOf(annotated)).word, 'invalid-option', 'a pod cannot grant itself a privilege')
})

t.test('a granted privilege does not override the enforced Pod Security level', async (t) => {
  const pod = (metric: string) => askingPod({}, { 'ridealong.dev/inject': metric })
  const labels = (enforce: string) => ({
    'ridealong.dev/privilege': 'privileged',
    'pod-security.kubernetes.io/enforce': enforce,
  })
  t.equal(ride(pod('trace-stat'), { labels: labels('baseline') }).word, 'pod-security')
  t.equal(ride(pod('trace-stat'), { labels: labels('privileged') }).word, 'injected')
  t.equal(ride(pod('root-stat'), { labels: labels('baseline') }).word, 'injected')
  t.equal(ride(pod('root-stat'), { labels: labels('restricted') }).word, 'pod-security')
})

t.test('an observer of a pod that is not Guaranteed has limits, and requests of 0', async (t) => {
  const expected = {
    requests: { cpu: '0', memory: '0' },
    limits: { cpu: '100m', memory: '32Mi' },
  }
  const burstable = container('app', { resources: { requests: { cpu: '1' } } })
  for (const [name, spec] of [
    ['BestEffort', {}],
    ['Burstable', { containers: [burstable] }],
  ] as const) {
    t.strictSame(
      ride(askingPod(spec)).observers['perf-sysstat']?.resources,
      expected,
      `a ${name} pod`,
    )
  }
})

t.test('an observer of a Guaranteed pod has requests that are equal to its limits', async (t) => {
  const amount = { cpu: '2', memory: '1Gi' }
  const guaranteed = container('app', { resources: { requests: amount, limits: amount } })
  const { observers } = ride(askingPod({ containers: [guaranteed] }))
  const own = { cpu: '100m', memory: '32Mi' }
  t.strictSame(observers['perf-sysstat']?.resources, { requests: own, limits: own })
})

t.test('an observer has resources only in a pod without pod-level resources', async (t) => {
  const amount = { cpu: '2', memory: '1Gi' }
  const all = container('app', { resources: { requests: amount, limits: amount } })
  const rows: [string, Json][] = [
    ['requests and limits', { resources: { requests: amount, limits: amount } }],
    ['only limits', { resources: { limits: amount } }],
    ['only requests', { resources: { requests: { cpu: '1' } } }],
    [
      'requests and limits that the containers use up',
      { resources: { requests: amount, limits: amount }, containers: [all] },
    ],
  ]
  for (const [name, spec] of rows) {
    const { word, observers } = ride(askingPod(spec))
    t.equal(word, 'injected', `the pod-level resources have ${name}`)
    t.equal(
      observers['perf-sysstat']?.resources,
      undefined,
      `with ${name}, the observer has no resources`,
    )
  }
  const none: [string, unknown][] = [
    ['null', null],
    ['an empty object', {}],
  ]
  for (const [name, resources] of none) {
    const { observers } = ride(askingPod({ resources }))
    t.match(
      observers['perf-sysstat']?.resources,
      { requests: { cpu: '0' } },
      `the pod-level resources are ${name}`,
    )
  }
})

t.test('in mode container, the first container stays the default of kubectl', async (t) => {
  const key = 'kubectl.kubernetes.io/default-container'
  const spec = { containers: [container('app'), container('lammps')] }
  const usual = (annotations: Texts) =>
    ride(askingPod(spec, annotations)).pod.metadata.annotations?.[key]
  const mode = { 'ridealong.dev/mode': 'container' }
  t.equal(usual(mode), 'app')
  t.equal(
    usual({ ...mode, 'ridealong.dev/target-container': 'lammps' }),
    'app',
    'the target does not change the default container',
  )
  t.equal(usual({ ...mode, [key]: 'lammps' }), 'lammps', 'an existing annotation is not changed')
  t.equal(usual({ ...mode, [key]: '' }), '', 'an empty annotation is not changed')
  t.equal(usual({}), undefined, 'in mode native, the annotation is not added')
})

t.test("a forged status annotation does not change the pod's own containers", async (t) => {
  const status = JSON.stringify({ outcome: 'injected', metrics: ['setup', 'app', 'perf-sysstat'] })
  const forged = { 'ridealong.dev/status': status }
  const setup = { name: 'setup', image: 'registry.example/setup:1' }
  const { word, pod } = ride(askingPod({ initContainers: [setup] }, forged))
  t.equal(word, 'injected')
  t.strictSame(pod.spec.initContainers?.[0], setup, 'the init container is unchanged')
  const wrong = { 'ridealong.dev/inject': 'nobody', 'ridealong.dev/on-error': 'deny', ...forged }
  t.equal(ride(podOf(wrong)).outcome, 'denied')
})

t.test(
  "the target may be a native sidecar if the sidecar is kubectl's default container",
  async (t) => {
    const proxy = { name: 'proxy', image: 'registry.example/proxy:1', restartPolicy: 'Always' }
    const usual = { 'kubectl.kubernetes.io/default-container': 'proxy' }
    const { observers } = ride(askingPod({ initContainers: [proxy] }, usual))
    const target = observers['perf-sysstat']?.env?.find(
      ({ name }) => name === 'RIDEALONG_TARGET_CONTAINER',
    )
    t.equal(target?.value, 'proxy')
  },
)

const SHARED = { shareProcessNamespace: true }

t.test('while a namespace moves, observers of the other catalog are kept', async (t) => {
  const labels = { 'ridealong.dev/moved-from': 'canary' }
  const place = { labels, revisions: ['default', 'canary'] }
  const carrying = (name: string, catalog: string, asked: Texts = {}) => {
    const status = JSON.stringify({ outcome: 'injected', metrics: [name], catalog })
    const older = observer({ name, image: 'other:1', command: ['old'] })
    const spec = { ...SHARED, initContainers: [older] }
    return askingPod(spec, { ...asked, 'ridealong.dev/status': status })
  }
  const other = carrying('perf-sysstat', '01234567')
  const { word, isPatched, warnings } = ride(other, place)
  t.equal(word, 'already-injected')
  t.equal(isPatched, false)
  t.strictSame(warnings, [])
  t.equal(ride(other).word, 'observer-differs', 'the namespace does not move')
  const forged: [string, Place][] = [
    ['no release has the former revision', { labels, revisions: ['default'] }],
    ['the releases are not known', { labels }],
    [
      'the namespace has this revision',
      { ...place, labels: { ...labels, 'ridealong.dev/revision': 'canary' } },
    ],
    [
      'the namespace is of the default release',
      { ...place, labels: { 'ridealong.dev/moved-from': 'default' } },
    ],
  ]
  for (const [why, where] of forged) t.equal(ride(other, where).word, 'observer-differs', why)
  t.equal(ride(carrying('perf-sysstat', CATALOG.revision), place).word, 'observer-differs')
  const unknown = carrying('gpu-smi', '01234567', { 'ridealong.dev/inject': 'gpu-smi' })
  t.equal(ride(unknown, place).word, 'already-injected', 'a metric of the other catalog only')
  const absent = { ...other, spec: { containers: [container('app')] } }
  t.equal(ride(absent, place).word, 'injected', 'a status without its containers does not count')
})

const ENDING = {
  restartPolicy: undefined,
  env: [{ name: 'RIDEALONG_MODE', value: 'container' }],
}

/** A description of a pod, its containers, and the reason for which it is left. */
const OBSERVERS: [string, Json, string][] = [
  ['an unchanged observer', { initContainers: [observer()] }, 'already-injected'],
  [
    'an observer with changes of other webhooks',
    {
      initContainers: [
        observer({ imagePullPolicy: 'Always', env: [{ name: 'A', value: 'b' }], args: [] }),
      ],
    },
    'already-injected',
  ],
  [
    'an ordinary container that ends by itself',
    { containers: [container('app'), observer(ENDING)] },
    'already-injected',
  ],
  [
    'an ordinary container that would never end',
    { containers: [container('app'), observer({ restartPolicy: undefined })] },
    'observer-differs',
  ],
  [
    'an observer with another image',
    { initContainers: [observer({ image: 'other:1' })] },
    'observer-differs',
  ],
  [
    'an observer without an image',
    { initContainers: [observer({ image: undefined })] },
    'observer-differs',
  ],
  [
    'an observer with another command',
    { initContainers: [observer({ command: ['sh', '-c', 'x'] })] },
    'observer-differs',
  ],
  [
    'an observer without a command',
    { initContainers: [observer({ command: undefined })] },
    'observer-differs',
  ],
  [
    'an observer with other arguments',
    { initContainers: [observer({ args: ['-x'] })] },
    'observer-differs',
  ],
]

t.test(
  'an observer is recognised by its image, its command and its kind of container',
  async (t) => {
    for (const [name, spec, word] of OBSERVERS) {
      const { word: reason, isPatched } = ride(askingPod({ ...SHARED, ...spec }, INJECTED))
      t.equal(reason, word, `the pod has ${name}`)
      t.equal(isPatched, false, `a pod with ${name} is not patched`)
    }
  },
)

t.test('the message names the image or command that differs from the catalog', async (t) => {
  const said = (more: Json) =>
    ride(askingPod({ ...SHARED, initContainers: [observer(more)] }, INJECTED)).message
  t.equal(
    said({ image: 'evil.example/x:1' }),
    'container perf-sysstat has image "evil.example/x:1" instead of the catalog\'s ' +
      '"registry.example/observer:1"',
  )
  t.equal(
    said({ command: ['sh', '-c', 'echo \u001b[2J'] }),
    'container perf-sysstat has command "sh -c echo ?[2J" instead of the catalog\'s "perf-sysstat"',
  )
  t.match(
    said({ image: 'x'.repeat(1000), command: Array(1e5).fill('x') }),
    /^.{0,300}$/,
    'the message is short',
  )
})

t.test('an observer with a changed image gets its restartPolicy back', async (t) => {
  const rewritten = observer({ image: 'mirror.example/observer:1', restartPolicy: undefined })
  const { outcome, pod } = ride(askingPod({ ...SHARED, initContainers: [rewritten] }, INJECTED))
  t.equal(outcome, 'restored')
  t.strictSame(pod.spec.initContainers, [{ ...rewritten, restartPolicy: 'Always' }])
  t.same(
    JSON.parse(pod.metadata.annotations?.['ridealong.dev/status'] ?? ''),
    JSON.parse(INJECTED['ridealong.dev/status']),
  )
  const setup = observer({ command: ['setup'], restartPolicy: undefined })
  t.equal(
    ride(askingPod({ ...SHARED, initContainers: [setup] }, INJECTED)).isPatched,
    false,
    'an init container with another command is unchanged',
  )
})

t.test('an observer of another version is unchanged, even if the request is invalid', async (t) => {
  const spec = { ...SHARED, initContainers: [observer({ image: 'registry.example/observer:0' })] }
  for (const more of [{ 'ridealong.dev/inject': 'nobody' }, DENY]) {
    const { word, allowed, isPatched } = ride(askingPod(spec, { ...INJECTED, ...more }))
    const isWrong = 'ridealong.dev/inject' in more
    t.equal(word, 'observer-differs', isWrong ? 'the request is invalid' : 'on-error is deny')
    t.equal(allowed, true)
    t.equal(isPatched, false)
  }
})

t.test('a pod is injected if its status annotation names a missing observer', async (t) => {
  const { word, status } = ride(askingPod({}, INJECTED))
  t.equal(word, 'injected')
  t.match(status, { metrics: ['perf-sysstat'], catalog: '3f2a91c0' })
  const other = ride(
    askingPod(
      { initContainers: [sidecar('io-sysstat')] },
      { 'ridealong.dev/status': JSON.stringify({ outcome: 'injected', metrics: ['io-sysstat'] }) },
    ),
  )
  t.equal(other.word, 'injected')
  t.strictSame(
    other.status?.metrics,
    ['perf-sysstat'],
    'the new status annotation does not name an unverified observer',
  )
})

t.test(
  'the message about an unknown target container names at most eight containers',
  async (t) => {
    const messageOf = (count: number) => {
      const containers = Array.from({ length: count }, (_, i) => ({ name: `c${i}`, image: 'a' }))
      const absent = { 'ridealong.dev/target-container': 'absent' }
      return ride(askingPod({ containers }, absent)).message
    }
    t.match(messageOf(8), /pod, which has "c0", .*, "c7"$/)
    t.match(messageOf(2000), /pod, which has "c0", .*, "c7" and 1992 more$/)
  },
)

t.test(
  'only the first of several containers with the same name gets its restartPolicy back',
  async (t) => {
    const stripped = observer({ restartPolicy: undefined })
    const pod = askingPod({ initContainers: [stripped, stripped, stripped] }, INJECTED)
    const { word, pod: restored } = ride(pod)
    t.equal(word, 'restored')
    t.strictSame(
      restored.spec.initContainers?.map(({ restartPolicy }) => restartPolicy),
      ['Always', undefined, undefined],
      'the second and the third container are unchanged',
    )
  },
)

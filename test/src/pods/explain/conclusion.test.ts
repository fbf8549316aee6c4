import t from 'tap'
import { makeAuthority } from '../../../../certs/make.ts'
import { askingPod, CATALOG, type Json, podOf, ride } from '../../core/build.ts'
import { configuration, explained, type Situation } from './build.ts'

// Tests of the conclusion of an explanation. Each fact that prevents an answer of the webhook is
// tested with a pod that does not exist yet, and with an existing pod.

const authority = await makeAuthority()
const { cert } = await authority.issue({ names: ['10.0.0.1'] })
const other = await makeAuthority()

const trusting = (ca: string) => ({
  configuration: { value: configuration(ca) },
  serving: { value: cert },
})
const WELL: Situation = { webhook: trusting(authority.ca) }
const ASKS = { 'ridealong.dev/inject': 'perf-sysstat' }

/** A pod that requested observers and was created unchanged. */
const CREATED = stored(askingPod())

function stored(pod: Json, more: Json = {}): Json {
  const metadata = { ...(pod.metadata as Json), creationTimestamp: '2026-01-01T12:00:00Z', ...more }
  return { ...pod, metadata }
}

t.test('a pod is injected if a trusted and ready webhook selects it', async (t) => {
  const { outcome, conclusion, findings } = explained(askingPod(), WELL)
  t.match(
    { outcome, conclusion },
    { outcome: 'injected', conclusion: /injected with perf-sysstat\.$/ },
  )
  t.strictSame(
    findings.slice(0, 7).map(({ name, verdict }) => `${name} ${verdict}`),
    [
      'webhook configuration ok',
      'CA ok',
      'failurePolicy ok',
      'replicas ok',
      'namespaceSelector ok',
      'objectSelector ok',
      'matchConditions ok',
    ],
  )
})

const expired = await authority.issue({ names: ['10.0.0.1'], days: -1 })
const elsewhere = await authority.issue({ names: ['elsewhere.example'] })
const SERVICE = { service: { name: 'ridealong', namespace: 'ridealong-system' } }

/** For each obstacle: the reason, the facts, and the text of the conclusion. */
const OBSTACLES: Readonly<Record<string, readonly [string, Situation, RegExp]>> = {
  'no configuration': [
    'webhook-absent',
    { webhook: { configuration: { value: undefined } } },
    /no MutatingWebhookConfiguration has pods\.ridealong\.dev/,
  ],
  'a namespace with a revision that no release has': [
    'revision-absent',
    {
      labels: { 'ridealong.dev/revision': 'typo' },
      webhook: { configuration: { value: undefined }, revisions: ['default', 'canary'] },
    },
    /no release has the revision typo of the namespace; the releases are default, canary/,
  ],
  'a namespace without a revision, and no default release': [
    'revision-absent',
    { webhook: { configuration: { value: undefined }, revisions: ['canary'] } },
    /has no label ridealong\.dev\/revision, and there is no default release/,
  ],
  'a CA that has issued another certificate': [
    'webhook-ca',
    { webhook: trusting(other.ca) },
    /caBundle does not verify the server's certificate, issued by CN=Ridealong development CA/,
  ],
  'no CA': ['webhook-ca', { webhook: trusting('') }, /caBundle has no certificate/],
  'an invalid CA': [
    'webhook-ca',
    { webhook: trusting('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----') },
    /caBundle has no certificate/,
  ],
  'a certificate that has expired': [
    'webhook-ca',
    { webhook: { ...trusting(authority.ca), serving: { value: expired.cert } } },
    /the server's certificate expired on 20/,
  ],
  'a certificate for another name': [
    'webhook-ca',
    {
      webhook: {
        configuration: { value: configuration(authority.ca, SERVICE) },
        serving: { value: elsewhere.cert },
      },
    },
    /certificate is not valid for ridealong\.ridealong-system\.svc/,
  ],
  'no ready replica': [
    'webhook-away',
    { webhook: { ...trusting(authority.ca), ready: { value: 0 } } },
    /no replica is ready/,
  ],
  'a selector that excludes the namespace': [
    'excluded-namespace',
    { ...WELL, name: 'apart' },
    /does not select the namespace: it requires .*\/metadata\.name NotIn \(kube-system, apart\)/,
  ],
}

for (const [what, [reason, situation, sentence]] of Object.entries(OBSTACLES)) {
  t.test(`${what} gives the reason ${reason}`, async (t) => {
    const future = explained(askingPod(), situation)
    t.match(future, { outcome: 'left', reason, conclusion: sentence })
    t.type(future.remedy, 'string')
    t.match(explained(CREATED, situation, CREATED), {
      outcome: 'left',
      reason,
      conclusion: sentence,
    })
    t.match(
      explained(podOf(), situation),
      { reason: 'not-asked' },
      'the obstacle does not affect a pod that requests no observers',
    )
    const injected = stored(ride(askingPod()).pod as unknown as Json)
    t.match(
      explained(injected, situation, injected),
      { outcome: 'injected' },
      'the obstacle does not affect an injected pod',
    )
  })
}

t.test('an annotated namespace without the label gives the reason not-armed', async (t) => {
  const situation = { ...WELL, annotations: ASKS }
  const { conclusion, reason, remedy } = explained(podOf(), situation)
  t.equal(reason, 'not-armed')
  t.match(conclusion, /is not armed: it does not have the label ridealong\.dev\/armed=true/)
  t.match(remedy, /annotate the namespace again/)
  const armed = { ...situation, labels: { 'ridealong.dev/armed': 'true' } }
  t.equal(explained(podOf(), armed).outcome, 'injected')
  t.equal(
    explained(askingPod(), situation).outcome,
    'injected',
    'a pod with its own annotation needs no label',
  )
})

t.test('a created pod without a status annotation gives the reason webhook-away', async (t) => {
  const { outcome, reason, conclusion } = explained(CREATED, WELL, CREATED)
  t.match({ outcome, reason }, { outcome: 'left', reason: 'webhook-away' })
  t.match(conclusion, /^The pod requests .*, but the webhook did not answer when .* created\.$/)
})

t.test(
  'a rule whose objects were not read is unknown, unless the webhook checked it',
  async (t) => {
    const situation = { ...WELL, unchecked: { LimitRange: 'you may not list LimitRanges' } }
    const injected = stored(ride(askingPod()).pod as unknown as Json)
    const pods = [
      ['a pod that does not exist yet', askingPod(), undefined, 'unknown'],
      ['a pod without a status', CREATED, CREATED, 'unknown'],
      ['an injected pod', injected, injected, 'ok'],
    ] as const
    for (const [what, pod, created, verdict] of pods) {
      const { findings } = explained(pod, situation, created)
      t.equal(findings.find(({ name }) => name === 'LimitRange')?.verdict, verdict, what)
    }
  },
)

t.test('images that are unavailable now are not a reason for an existing pod', async (t) => {
  const { reason, findings } = explained(CREATED, { ...WELL, heldImages: [] }, CREATED)
  t.equal(reason, 'webhook-away')
  t.strictSame(
    findings.filter(({ verdict }) => verdict === 'no'),
    [],
  )
})

t.test('an annotation that was added after the pod gives the reason annotated-later', async (t) => {
  const manager = (time: string) => ({
    time,
    fieldsV1: { 'f:metadata': { 'f:annotations': { 'f:ridealong.dev/inject': {} } } },
  })
  const late = stored(askingPod(), { managedFields: [manager('2026-01-01T12:00:05Z')] })
  t.match(explained(late, WELL, late), {
    reason: 'annotated-later',
    conclusion: /^The pod was created .*: the pod got .* ridealong\.dev\/inject only after/,
  })
  const { time, fieldsV1 } = manager('2026-01-01T12:00:05Z')
  const creator = { time, fieldsV1: { ...fieldsV1, 'f:spec': {} } }
  const early = stored(askingPod(), { managedFields: [creator] })
  t.equal(
    explained(early, WELL, early).reason,
    'webhook-away',
    'the creator of the pod, such as the Job controller, wrote again later',
  )
  const quiet = stored(podOf())
  const asking = { ...WELL, annotations: ASKS, managedFields: [manager('2026-01-02T00:00:00Z')] }
  t.match(explained(quiet, asking, quiet), {
    reason: 'annotated-later',
    conclusion: /the namespace/,
  })
})

t.test('the status annotation gives the reason; a finding predicts a new creation', async (t) => {
  const status = JSON.stringify({ outcome: 'left', reason: 'quota', message: 'ResourceQuota "a"' })
  const left = stored(askingPod({}, { 'ridealong.dev/status': status }))
  const { findings, ...explanation } = explained(left, WELL, left)
  t.match(explanation, {
    outcome: 'left',
    reason: 'quota',
    conclusion: /without observers: ResourceQuota "a"\.$/,
  })
  t.match(findings.at(-1), { name: 'created again now', sentence: 'the pod would be injected' })
  t.match(
    findings.find(({ name }) => name === 'ResourceQuota'),
    { verdict: 'no' },
  )
})

t.test('the explanation names the change of a pod after its injection', async (t) => {
  const injected = stored(ride(askingPod()).pod as unknown as Json)
  const spec = injected.spec as { initContainers: Json[] }
  const [observer] = spec.initContainers
  const altered = (change: Json) => {
    const pod = { ...injected, spec: { ...spec, ...change } }
    return explained(pod, WELL, pod)
  }
  const stripped = altered({ initContainers: [{ ...observer, restartPolicy: undefined }] })
  t.match(stripped, {
    outcome: 'left',
    reason: 'altered',
    conclusion: /has lost its restartPolicy/,
  })
  t.match(altered({ initContainers: [] }), { conclusion: /perf-sysstat is missing/ })
  t.match(altered({ shareProcessNamespace: false }), { conclusion: /shareProcessNamespace is not/ })
})

t.test('containers that do not start are findings, and the pod is still injected', async (t) => {
  const waiting = { reason: 'ImagePullBackOff', message: 'Back-off pulling image "o"' }
  const initContainerStatuses = [{ name: 'perf-sysstat', state: { waiting }, restartCount: 0 }]
  const containerStatuses = [
    { name: 'app', state: { waiting: { reason: 'PodInitializing' } }, restartCount: 0 },
    { name: 'beside', state: { running: {} }, restartCount: 3 },
  ]
  const pod = ride(askingPod()).pod as unknown as Json
  const held = stored({ ...pod, status: { initContainerStatuses, containerStatuses } })
  const { outcome, findings } = explained(held, WELL, held)
  t.equal(outcome, 'injected')
  t.strictSame(
    findings
      .filter(({ name }) => name.startsWith('container '))
      .map(({ name, sentence }) => `${name} ${sentence}`),
    [
      'container perf-sysstat cannot start: ImagePullBackOff: Back-off pulling image "o"',
      'container beside restarted 3 times',
    ],
  )
})

t.test('unreadable facts are unknown, and no reason for missing observers', async (t) => {
  const problem = 'the apiserver says 403: forbidden'
  const situation = { webhook: { configuration: { problem }, serving: { problem } } }
  const { outcome, findings } = explained(askingPod(), situation)
  t.equal(outcome, 'injected')
  t.match(findings[0], { verdict: 'unknown', sentence: problem })
  const half = explained(askingPod(), {
    webhook: { ...trusting(authority.ca), serving: { problem } },
  })
  t.match(half.findings[1], { name: 'CA', verdict: 'unknown' })
  t.equal(half.outcome, 'injected')
})

t.test('the result of match conditions that the chart does not have is unknown', async (t) => {
  const chart = configuration(authority.ca) as { webhooks: Json[] }
  const webhooks = chart.webhooks.map((one) => ({
    ...one,
    matchConditions: [{ name: 'other', expression: "object.metadata.name != 'x'" }],
  }))
  const value = { ...chart, webhooks }
  const { findings } = explained(askingPod(), { webhook: { configuration: { value } } })
  t.match(
    findings.find(({ name }) => name === 'matchConditions'),
    { verdict: 'unknown' },
  )
})

t.test('a status annotation is compared with the containers that it names', async (t) => {
  const injected = stored(ride(askingPod()).pod as unknown as Json)
  const spec = injected.spec as { initContainers: Json[] }
  const [observer] = spec.initContainers
  const forged = (change: Json): Json => ({
    ...injected,
    spec: { ...spec, initContainers: [{ ...observer, ...change }] },
  })
  const evil = forged({ image: 'evil:1', command: ['sh'], env: [] })
  const explanation = explained(evil, WELL, evil)
  t.match(explanation, {
    outcome: 'unverified',
    reason: 'observer-differs',
    conclusion: [
      'The annotation ridealong.dev/status says that the pod was injected with perf-sysstat,',
      'but this is not verified:',
      'container perf-sysstat has image "evil:1"',
      'instead of the catalog\'s "registry.example/observer:1"',
      'and command "sh" instead of the catalog\'s "perf-sysstat".',
    ].join(' '),
  })
  t.equal(explanation.cost, undefined, 'no container counts as an observer')
  const older = forged({ image: 'registry.example/observer:0' })
  t.notMatch(JSON.stringify(explained(older, WELL, older)), /forge/, 'no forgery is claimed')
  const names = explained(injected, WELL, injected)
  t.match(
    names.findings.find(({ name }) => name === 'observers'),
    { verdict: 'ok' },
  )
})

t.test('a status annotation that names an application container is not verified', async (t) => {
  const status = JSON.stringify({ outcome: 'injected', metrics: ['app'] })
  const pod = stored(askingPod({ shareProcessNamespace: true }, { 'ridealong.dev/status': status }))
  const { outcome, conclusion, findings } = explained(pod, WELL, pod)
  t.equal(outcome, 'unverified')
  t.match(conclusion, /container app does not have the name of a metric of the catalog/)
  t.notMatch(
    JSON.stringify(findings),
    /must be a non-empty list/,
    'the container still counts as a container of the pod',
  )
})

t.test('without a known catalog, an injection is not verified', async (t) => {
  const injected = stored(ride(askingPod()).pod as unknown as Json)
  const catalog = { ...CATALOG, revision: '00000000' }
  const { outcome, conclusion, findings } = explained(
    injected,
    { ...WELL, catalog, isCatalogGuessed: true },
    injected,
  )
  t.equal(outcome, 'injected')
  t.match(
    conclusion,
    /^The annotation ridealong\.dev\/status says that .+ perf-sysstat, but this is not verified: /,
  )
  t.match(
    findings.find(({ name }) => name === 'observers'),
    { verdict: 'unknown' },
  )
  t.match(
    explained(injected, { ...WELL, isCatalogGuessed: true }, injected).conclusion,
    'The pod was injected with perf-sysstat.',
    'the status annotation names the revision of the catalog',
  )
})

/** Returns a copy of an injected pod as `kubectl debug --copy-to` creates it. */
function copied(change: Json = {}, more: Json = {}): Json {
  const { spec } = ride(askingPod()).pod as unknown as { spec: Json }
  const [observer] = spec.initContainers as readonly Json[]
  const initContainers = [{ ...observer, ...change }]
  return stored({ ...podOf(), spec: { ...spec, initContainers, ...more } })
}

t.test('a copy of an injected pod has its observers, although it has no status', async (t) => {
  const asking = { ...WELL, annotations: ASKS, labels: { 'ridealong.dev/armed': 'true' } }
  const away = { ...asking, webhook: { configuration: { value: undefined } } }
  for (const situation of [asking, away, WELL]) {
    const { outcome, conclusion, findings } = explained(copied(), situation, copied())
    t.match(
      { outcome, conclusion },
      {
        outcome: 'injected',
        conclusion:
          'The pod has perf-sysstat, but no annotation ridealong.dev/status, ' +
          'like a copy by kubectl debug.',
      },
    )
    t.match(
      findings.find(({ name }) => name === 'status'),
      { verdict: 'look', sentence: 'the pod has none, but it has the observers perf-sysstat' },
    )
  }
  const other = copied({ image: 'other:1' })
  t.match(explained(other, asking, other), {
    outcome: 'unverified',
    reason: 'observer-differs',
    conclusion: /^The pod has perf-sysstat, but .* is not verified: .* image "other:1" instead/,
  })
  const alone = copied({}, { shareProcessNamespace: false })
  t.match(explained(alone, asking, alone), {
    outcome: 'left',
    reason: 'altered',
    conclusion: /shareProcessNamespace is not true/,
    remedy: /--share-processes/,
  })
  const own = copied({ env: [] })
  t.match(
    explained(own, asking, own),
    { outcome: 'left' },
    'a container with the name of a metric that is no observer',
  )
})

t.test('the explanation of a pod that lacks a metric says why, and what to do', async (t) => {
  const pod = askingPod({}, { 'ridealong.dev/inject': 'perf-sysstat,cpu-profile,nobody' })
  const without = 'without cpu-profile: tools-not-allowed: metric cpu-profile loads a library'
  const reasons = ['unknown-metric', 'tools-not-allowed']
  const before = explained(pod, WELL)
  t.match(before.conclusion, `The pod would be injected with perf-sysstat, without nobody: unknown`)
  t.match(before.conclusion, without)
  const created = stored(ride(pod).pod as unknown as Json)
  const after = explained(pod, WELL, created)
  t.match(after.conclusion, `The pod was injected with perf-sysstat, without nobody: unknown`)
  t.match(after.conclusion, without)
  for (const { outcome, left, reason, remedy, findings } of [before, after]) {
    t.equal(outcome, 'injected')
    t.equal(reason, undefined)
    t.strictSame(
      left?.map((each) => each.reason),
      reasons,
    )
    t.match(remedy, /^choose a metric that .*; ask an administrator to set the label .*tools/)
    const looks = findings.filter(({ verdict }) => verdict === 'look').map(({ name }) => name)
    t.match(looks, ['request', 'tools'])
  }
  const status = after.findings.filter(({ name }) => name === 'status')
  t.match(status, [
    { verdict: 'ok' },
    { verdict: 'look', sentence: /^without nobody: unknown-metric: annotation/ },
    { verdict: 'look', sentence: without },
  ])
})

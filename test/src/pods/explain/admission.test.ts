import t from 'tap'
import { buildPodPair } from '../../../../src/pods/explain/admission.ts'
import { askingPod, type Json, podOf, ride } from '../../core/build.ts'
import { explained, factsOf } from './build.ts'

const MESSAGE =
  "ValidatingAdmissionPolicy 'no-shared-pids' with binding 'no-shared-pids' denied request:" +
  ' pods must not share their process namespace'
const DENIED = { outcome: 'denied', message: MESSAGE } as const

const pod = askingPod({ containers: [{ name: 'app', image: 'a' }] })
const named = (annotations: Json, more: Json = {}): Json => ({
  ...pod,
  metadata: { name: 'lammps-0', annotations, ...more },
})

t.test('a pod that a policy denies only with observers is denied, with a remedy', async (t) => {
  const explanation = explained(pod, { admission: DENIED })
  t.match(explanation, {
    outcome: 'denied',
    reason: 'admission-policy',
    conclusion: `The pod would be denied because of its observers: ${MESSAGE}.`,
    remedy: /^ask the administrator of the policy/,
  })
  t.match(
    explanation.findings.find(({ name }) => name === 'dry run'),
    { verdict: 'no', sentence: `the apiserver denies the pod only with observers: ${MESSAGE}` },
  )
})

t.test('a pod that the apiserver admits with its observers is injected', async (t) => {
  const { outcome, findings } = explained(pod, { admission: { outcome: 'admitted', pod } })
  t.equal(outcome, 'injected')
  t.match(
    findings.find(({ name }) => name === 'dry run'),
    { verdict: 'ok', sentence: 'the apiserver admits the pod with its observers' },
  )
})

t.test(
  'without a dry run of both pods, it is unknown whether policies allow observers',
  async (t) => {
    const problem = 'pods is forbidden: User "ann" cannot create resource "pods"'
    const { outcome, findings } = explained(pod, { admission: { outcome: 'unknown', problem } })
    t.equal(outcome, 'injected')
    t.match(
      findings.find(({ name }) => name === 'dry run'),
      {
        verdict: 'unknown',
        sentence: `it is not known whether policies allow observers: ${problem}`,
      },
    )
  },
)

t.test('a policy is no reason for an existing pod, but for its next creation', async (t) => {
  const created = { ...pod, metadata: { ...(pod.metadata as Json), creationTimestamp: 'x' } }
  const { reason, findings } = explained(pod, { admission: DENIED }, created)
  t.not(reason, 'admission-policy')
  t.match(
    findings.find(({ name }) => name === 'dry run'),
    { verdict: 'look' },
  )
})

t.test('the two pods of the dry runs differ only in what observers need', async (t) => {
  const pair = buildPodPair(factsOf(pod))
  t.match(pair?.withObservers, {
    metadata: { annotations: { 'ridealong.dev/status': /^\{"outcome":"injected"/ } },
    spec: { shareProcessNamespace: true, initContainers: [{ name: 'perf-sysstat' }] },
  })
  t.strictSame(pair?.withoutObservers, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      generateName: 'ridealong-explain-',
      labels: undefined,
      annotations: { 'ridealong.dev/inject': 'false' },
    },
    spec: { initContainers: [], containers: [{ name: 'app', image: 'a' }] },
  })
})

t.test('the pods of the dry runs have no names, owners, nodes and unknown images', async (t) => {
  const asking = { 'ridealong.dev/inject': 'perf-sysstat' }
  const labels = { app: 'a' }
  const whole = named(asking, { labels, uid: 'u', ownerReferences: [{ kind: 'Job', name: 'j' }] })
  const spec = {
    nodeName: 'n1',
    ephemeralContainers: [{ name: 'debugger' }],
    initContainers: [{ name: 'setup', image: 'b' }],
    containers: [{ name: 'app' }],
  }
  const pair = buildPodPair(factsOf({ ...whole, spec }))
  t.strictSame(pair?.withoutObservers, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      generateName: 'ridealong-explain-',
      labels,
      annotations: { 'ridealong.dev/inject': 'false' },
    },
    spec: {
      initContainers: [{ name: 'setup', image: 'b' }],
      containers: [{ name: 'app', image: 'unknown' }],
    },
  })
})

t.test('there is no dry run of a pod that gets no observers or already has them', async (t) => {
  t.equal(buildPodPair(factsOf(podOf())), undefined)
  const created = ride(pod).pod as unknown as Json
  t.equal(buildPodPair(factsOf(created, {}, created)), undefined)
})

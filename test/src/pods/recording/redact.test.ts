import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import t from 'tap'
import { parseDocument } from 'yaml'
import { loadCatalog } from '../../../../src/catalog/load.ts'
import { buildCatalog } from '../../../../src/core/catalog.ts'
import type { Fields } from '../../../../src/core/kubernetes/json.ts'
import { readNamespace } from '../../../../src/core/namespaces/namespace.ts'
import { readReview } from '../../../../src/core/review.ts'
import { reviewPod } from '../../../../src/core/review-pod.ts'
import { redactObject, redactReview } from '../../../../src/pods/recording/redact.ts'
import { CASE_NAMES, CASE_NAMESPACES, reviewFile } from '../../../cases/read.ts'
import { calls, type Json, mapOf, mapsOf, nonsense } from '../../../properties/arbitrary.ts'
import { metricDocument } from '../../core/build.ts'

const catalog = await loadCatalog({})
const excludedNamespaces = new Set(['kube-system'])

const redact = (review: Fields) => redactReview(review, catalog)

/** Returns the complete answer: the decision, the patch, and the message to the creator. */
function answer(body: Json, namespace: unknown) {
  const review = readReview(body)
  if ('problem' in review) throw new Error(review.problem)
  return reviewPod(review, {
    catalog,
    excludedNamespaces,
    namespace: readNamespace('hpc', namespace),
  })
}

/**
 * Checks that a redacted recording has the same answer as the original review. The message about an
 * observer that differs quotes its command, which is redacted.
 */
function staysTheSame({ body, namespace }: { body: Json; namespace: unknown }): void {
  const known = namespace === undefined ? undefined : redactObject(mapOf(namespace))
  const [redacted, original] = [answer(redact(body), known), answer(body, namespace)]
  const { decision } = original
  if ('reason' in decision && decision.reason === 'observer-differs')
    assert.equal('reason' in redacted.decision && redacted.decision.reason, decision.reason)
  else assert.deepEqual(redacted, original)
}

t.test('the answer is the same for a redacted pod', async () => {
  fc.assert(fc.property(calls(), staysTheSame), { numRuns: 3000 })
})

t.test('the answer is the same for a redacted object that is not a pod', async () => {
  fc.assert(fc.property(nonsense, staysTheSame), { numRuns: 1000 })
})

t.test('the answer is the same for every recorded pod after redaction', async (t) => {
  const { items } = parseDocument(readFileSync(CASE_NAMESPACES, 'utf8')).toJS()
  for (const name of CASE_NAMES) {
    const body = JSON.parse(readFileSync(reviewFile(name), 'utf8'))
    const namespace = mapsOf(items).find(
      ({ metadata }) => mapOf(metadata).name === body.request.namespace,
    )
    t.doesNotThrow(() => staysTheSame({ body, namespace }), `the answer to ${name} is the same`)
  }
  t.ok(CASE_NAMES.length > 30, 'more than 30 pods are recorded')
})

/** Returns a review of a pod whose annotations have this number of bytes, mostly two per letter. */
function ofSize(bytes: number): Json {
  const kept = { 'ridealong.dev/inject': 'perf-sysstat', 'notes.example/text': '' }
  const rest = bytes - Object.entries(kept).flat().join('').length
  const text = 'é'.repeat(rest >> 1) + 'e'.repeat(rest & 1)
  return {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {
      ...{ uid: 'u', operation: 'CREATE', namespace: 'hpc' },
      object: {
        metadata: { name: 'p', annotations: { ...kept, 'notes.example/text': text } },
        spec: { containers: [{ name: 'app', image: 'app' }] },
      },
    },
  }
}

t.test('redaction does not change the size of annotations', async (t) => {
  const reasons = new Set<string>()
  for (let bytes = 256 * 1024 - 400; bytes < 256 * 1024; bytes += 1) {
    const body = ofSize(bytes)
    const before = answer(body, undefined).decision
    const { decision } = answer(redact(body), undefined)
    assert.deepEqual(decision, before)
    reasons.add('reason' in before ? before.reason : before.outcome)
  }
  t.strictSame([...reasons], ['injected', 'too-large'], 'some sizes fit, and others do not')
})

const SECRET = 'hush'

/** A pod with a secret in each of many fields. */
const TELLING_POD = {
  metadata: {
    name: 'app-0',
    annotations: {
      'ridealong.dev/inject': 'perf-sysstat',
      'perf-sysstat.ridealong.dev/rate': '5',
      'kubectl.kubernetes.io/default-container': 'app',
      'jobset.sigs.k8s.io/replicatedjob-name': 'workers',
      'kubectl.kubernetes.io/last-applied-configuration': `{"env":"${SECRET}"}`,
      'kubernetes.io/change-cause': `kubectl run --env=TOKEN=${SECRET}`,
      'vault.example/token': SECRET,
      'not-kubernetes.io/token': SECRET,
      token: SECRET,
    },
  },
  spec: {
    containers: [
      {
        name: 'app',
        image: 'app:1',
        command: ['/usr/bin/mpirun', `--token=${SECRET}`, SECRET],
        args: [SECRET, '', `-p${SECRET}`],
        env: [
          { name: 'TOKEN', value: SECRET },
          { name: 'EMPTY', value: '' },
          { name: 'RIDEALONG_MODE', value: 'native' },
          { name: 'RIDEALONG_MODE', value: SECRET },
          { name: 'RIDEALONG_TOKEN', value: SECRET },
          { name: 'RIDEALONG_OPTION_TOKEN', value: SECRET },
          { name: 'OTHER', valueFrom: { secretKeyRef: { name: 'keys', key: 'token' } } },
        ],
        livenessProbe: { exec: { command: ['curl', `http://a:${SECRET}@b`] }, periodSeconds: 5 },
        readinessProbe: {
          httpGet: {
            path: `/ready?token=${SECRET}`,
            port: 8080,
            httpHeaders: [{ name: 'Authorization', value: SECRET }],
          },
        },
        startupProbe: { exec: { command: [SECRET + SECRET.replace('h', ' h')] } },
        lifecycle: {
          postStart: { exec: { command: ['sh', '-c', SECRET] } },
          preStop: { httpGet: { path: SECRET, port: 1 } },
        },
        securityContext: { runAsUser: 1000, windowsOptions: { gmsaCredentialSpec: SECRET } },
      },
    ],
    initContainers: [{ name: 'setup', image: 'a', command: [`TOKEN=${SECRET} setup`] }],
    ephemeralContainers: [{ name: 'debug', image: 'a', env: [{ name: 'T', value: SECRET }] }],
    volumes: [
      { name: 'keys', secret: { secretName: 'keys' } },
      { name: 'a', csi: { driver: 'd', volumeAttributes: { key: SECRET } } },
      { name: 'b', flexVolume: { driver: 'd', options: { key: SECRET } } },
      { name: 'c', gitRepo: { repository: `https://me:${SECRET}@git.example` } },
      {
        name: 'd',
        ephemeral: { volumeClaimTemplate: { metadata: { annotations: { a: SECRET } } } },
      },
    ],
    securityContext: { windowsOptions: { gmsaCredentialSpec: SECRET } },
  },
}

const review = (request: Fields) => ({
  kind: 'AdmissionReview',
  apiVersion: 'admission.k8s.io/v1',
  request: { uid: 'u', operation: 'CREATE', ...request },
})

t.test('all secrets in a review are redacted, and other values are kept', async (t) => {
  const redacted = redact(review({ object: TELLING_POD, oldObject: TELLING_POD }))
  t.notMatch(JSON.stringify(redacted), SECRET)
  const { object } = mapOf(redacted.request)
  t.match(object, {
    metadata: {
      name: 'app-0',
      annotations: {
        'ridealong.dev/inject': 'perf-sysstat',
        'perf-sysstat.ridealong.dev/rate': '5',
        'kubectl.kubernetes.io/default-container': 'app',
        'jobset.sigs.k8s.io/replicatedjob-name': 'workers',
        'vault.example/token': 'reda',
      },
    },
  })
  const [container] = mapsOf(mapOf(mapOf(object).spec).containers)
  t.match(container, {
    image: 'app:1',
    command: ['/usr/bin/mpirun', 'redacted', 'redacted'],
    args: ['redacted', '', 'redacted'],
    env: [
      { name: 'TOKEN', value: 'redacted' },
      { name: 'EMPTY', value: '' },
      { name: 'RIDEALONG_MODE', value: 'native' },
      { name: 'RIDEALONG_MODE', value: 'redacted' },
      { name: 'RIDEALONG_TOKEN', value: 'redacted' },
      { name: 'RIDEALONG_OPTION_TOKEN', value: 'redacted' },
      { name: 'OTHER', valueFrom: { secretKeyRef: { name: 'keys', key: 'token' } } },
    ],
    livenessProbe: { exec: { command: ['curl', 'redacted'] }, periodSeconds: 5 },
    readinessProbe: { httpGet: { port: 8080, httpHeaders: [{ name: 'Authorization' }] } },
    securityContext: { runAsUser: 1000 },
  })
})

t.test(
  'the command of an observer is kept only if it is equal to the command in the catalog',
  async (t) => {
    const container = {
      image: 'registry.example/traces:1',
      command: ['traces', 'observe'],
      args: ['--depth', '8'],
      resources: { limits: { cpu: '100m', memory: '32Mi' } },
    }
    const traces = metricDocument('traces', { container })
    const offered = buildCatalog([traces], catalog.revision)
    const recorded = (more: Json) => {
      const initContainers = [{ name: 'traces', ...container, restartPolicy: 'Always', ...more }]
      const status = JSON.stringify({ outcome: 'injected', metrics: ['traces'] })
      const annotations = { 'ridealong.dev/inject': 'traces', 'ridealong.dev/status': status }
      const containers = [{ name: 'app', image: 'app', command: ['sh', 'observe'] }]
      const spec = { shareProcessNamespace: true, initContainers, containers }
      return review({ namespace: 'hpc', object: { metadata: { name: 'p', annotations }, spec } })
    }
    const answered = (body: Fields) => {
      const read = readReview(body)
      if ('problem' in read) throw new Error(read.problem)
      const namespace = readNamespace('hpc', undefined)
      return reviewPod(read, { catalog: offered, excludedNamespaces, namespace }).decision
    }
    const redacted = redactReview(recorded({}), offered)
    t.strictSame(redacted, {
      ...recorded({}),
      request: JSON.parse(
        JSON.stringify(recorded({}).request).replace('"sh","observe"', '"sh","redacted"'),
      ),
    })
    t.match(answered(redacted), { outcome: 'left', reason: 'already-injected' })
    const others = [
      { name: 'other' },
      { command: ['traces', SECRET] },
      { args: ['--depth', '8', SECRET] },
      { args: ['--depth', SECRET] },
      { args: [`--depth ${SECRET}`, '8'] },
    ]
    for (const other of others) {
      const [observer] = mapsOf(
        mapOf(mapOf(mapOf(redactReview(recorded(other), offered).request).object).spec)
          .initContainers,
      )
      t.notMatch(JSON.stringify(observer), /hush/)
      t.match(observer, { command: ['traces', 'redacted'] }, JSON.stringify(other))
      t.ok([observer?.args].flat().every((word) => word === 'redacted'))
    }
  },
)

/** Returns the keys of an object and of all objects in it, in their order. */
function keysOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(keysOf)
  if (typeof value !== 'object' || value === null) return typeof value
  return Object.entries(value).map(([key, inner]) => [key, keysOf(inner)])
}

t.test('a redacted review has the same keys in the same order', async (t) => {
  const body = review({ object: TELLING_POD, oldObject: null })
  t.strictSame(keysOf(redact(body)), keysOf(body))
})

t.test('a second redaction changes nothing', async (t) => {
  const once = redact(review({ object: TELLING_POD }))
  t.strictSame(redact(once), once)
})

t.test('names of users are redacted, and names of controllers are kept', async (t) => {
  const person = {
    username: 'ada@example.org',
    uid: 'S-1-5',
    groups: ['lab-7', 'system:authenticated'],
    extra: { 'scopes.example': ['all'] },
  }
  t.strictSame(mapOf(redact(review({ userInfo: person })).request).userInfo, {
    username: 'redacted',
    uid: 'redacted',
    groups: ['redacted', 'system:authenticated'],
    extra: { 'scopes.example': ['redacted'] },
  })
  const controller = {
    username: 'system:serviceaccount:kube-system:job-controller',
    groups: ['system:serviceaccounts'],
  }
  const { request } = redact(review({ userInfo: controller }))
  t.strictSame(mapOf(request).userInfo, controller)
})

t.test(
  'a Namespace keeps its labels and Ridealong annotations, but no text about its users',
  async (t) => {
    const labels = { 'pod-security.kubernetes.io/enforce': 'baseline' }
    const metadata = { name: 'hpc', labels, managedFields: [{ manager: 'ada' }] }
    const ours = { 'ridealong.dev/inject': 'perf-sysstat' }
    const annotations = { ...ours, 'openshift.io/requester': 'ada@example.org' }
    t.strictSame(redactObject({ kind: 'Namespace', metadata: { ...metadata, annotations } }), {
      kind: 'Namespace',
      metadata: {
        name: 'hpc',
        labels,
        annotations: { ...ours, 'openshift.io/requester': 'redacted.......' },
      },
    })
  },
)

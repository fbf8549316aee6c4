import t from 'tap'
import type { Catalog } from '../../../src/core/catalog.ts'
import { readNamespace } from '../../../src/core/namespaces/namespace.ts'
import { reviewPod } from '../../../src/core/review-pod.ts'
import { answerIn, askingPod, CATALOG, type Json, podOf, reviewOf, ride } from './build.ts'

/** JSON values of every type. A test sets each field of a pod to each of these values. */
const NONSENSE: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  '',
  'x',
  [],
  [null],
  [[]],
  ['x'],
  [7],
  {},
  { x: 1 },
  [{}],
  [{ name: 7 }],
  { name: [] },
  JSON.parse('{"__proto__":{"name":"x"}}'),
]

const ROOT: readonly string[] = []

/** Returns a pod with the fields that Ridealong reads. */
const full = (): Json =>
  JSON.parse(
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: 'p',
        generateName: 'p-',
        namespace: 'hpc',
        labels: { app: 'x', 'workflows.argoproj.io/workflows': 'w' },
        annotations: {
          'ridealong.dev/inject': 'perf-sysstat',
          'ridealong.dev/target-command': 'lmp',
          'ridealong.dev/status': '{"outcome":"injected","metrics":["io-sysstat"]}',
          'kubectl.kubernetes.io/default-container': 'app',
          'batch.kubernetes.io/job-completion-index': '1',
        },
        ownerReferences: [{ kind: 'Job', name: 'j', controller: true }],
      },
      spec: {
        hostNetwork: true,
        hostPID: false,
        hostUsers: true,
        shareProcessNamespace: false,
        automountServiceAccountToken: true,
        restartPolicy: 'Never',
        os: { name: 'linux' },
        nodeSelector: { 'kubernetes.io/os': 'linux' },
        resources: { requests: { cpu: '1' } },
        securityContext: { runAsUser: 1, runAsGroup: 1, runAsNonRoot: true },
        volumes: [{ name: 'v' }],
        initContainers: [
          { name: 'i', restartPolicy: 'Always', securityContext: {}, resources: {} },
        ],
        containers: [
          {
            name: 'app',
            resources: { requests: { cpu: '1' }, limits: { cpu: '1', memory: '1Gi' } },
            securityContext: {
              runAsUser: 1,
              privileged: false,
              capabilities: { add: ['CHOWN'], drop: ['ALL'] },
            },
          },
        ],
      },
    }),
  )

/** Returns the paths of a JSON value and of every value in it. */
function pathsIn(value: unknown, path = ROOT): (readonly string[])[] {
  const children = typeof value === 'object' && value !== null ? Object.entries(value) : []
  return [path, ...children.flatMap(([key, child]) => pathsIn(child, [...path, key]))]
}

/** Returns a copy of a JSON value with the value `by` at a path. */
function spoilt(value: unknown, [key, ...rest]: readonly string[], by: unknown): unknown {
  if (key === undefined) return by
  const copy = Array.isArray(value) ? [...value] : { ...(value as Json) }
  return Object.assign(copy, { [key]: spoilt((value as Json)[key], rest, by) })
}

t.test('a pod with a field of any type is allowed without an internal error', async (t) => {
  t.equal(ride(full()).word, 'injected', 'the unchanged pod is injected')
  for (const path of pathsIn(full())) {
    const answers = NONSENSE.map((nonsense) => answerIn({}, spoilt(full(), path, nonsense)))
    t.ok(
      answers.every(({ response }) => response.response.allowed),
      `a pod with any value at /${path.join('/')} is allowed`,
    )
    t.ok(
      answers.every(
        ({ decision }) => !('reason' in decision) || decision.reason !== 'internal-error',
      ),
      `a value at /${path.join('/')} causes no internal error`,
    )
  }
})

/** Returns the objects that are not pods, with their descriptions. */
function invalidPods(): readonly (readonly [string, unknown])[] {
  const { spec, metadata } = askingPod() as { spec: Json; metadata: Json }
  const app = { name: 'app' }
  return [
    ['nothing', undefined],
    ['null', null],
    ['text', 'pod'],
    ['a list', [askingPod()]],
    ['no metadata', { spec }],
    ['metadata of a list', { metadata: [], spec }],
    ['no spec', { metadata }],
    ['a spec of null', { metadata, spec: null }],
    ['a spec of a list', { metadata, spec: [] }],
    ['no containers', { metadata, spec: {} }],
    ['containers of null', { metadata, spec: { containers: null } }],
    ['an empty list of containers', { metadata, spec: { containers: [] } }],
    ['a map of containers', { metadata, spec: { containers: { app } } }],
    ['a container of null', { metadata, spec: { containers: [null] } }],
    ['a container of text', { metadata, spec: { containers: ['app'] } }],
    ['a container without a name', { metadata, spec: { containers: [{}] } }],
    ['a second container without a name', { metadata, spec: { containers: [app, {}] } }],
    ['a container whose name is a number', { metadata, spec: { containers: [{ name: 1 }] } }],
    ['init containers of text', { metadata, spec: { ...spec, initContainers: 'x' } }],
    ['a map of init containers', { metadata, spec: { ...spec, initContainers: {} } }],
    ['an init container of null', { metadata, spec: { ...spec, initContainers: [null] } }],
    ['an init container without a name', { metadata, spec: { ...spec, initContainers: [{}] } }],
    ['a map of volumes', { metadata, spec: { ...spec, volumes: {} } }],
    ['volumes of text', { metadata, spec: { ...spec, volumes: 'v' } }],
    ['a list of annotations', { metadata: { annotations: [] }, spec }],
    ['annotations of text', { metadata: { annotations: 'x' }, spec }],
  ]
}

t.test('an invalid pod is allowed without a patch, with the reason invalid-pod', async (t) => {
  for (const [name, object] of invalidPods()) {
    const place = { annotations: { 'ridealong.dev/inject': 'perf-sysstat' } }
    const { decision, operations, response } = answerIn(place, object)
    t.match(decision, { outcome: 'left', reason: 'invalid-pod' }, name)
    t.strictSame(operations, [], name)
    t.strictSame(
      response.response,
      { uid: '705ab4f5-6393-11e8-b7cc-42010a800002', allowed: true, warnings: undefined },
      name,
    )
  }
})

t.test('an answer has the uid of its request', async (t) => {
  const denied = { 'ridealong.dev/on-error': 'deny' }
  const pods: [string, unknown][] = [
    ['injected', askingPod()],
    ['skipped', podOf()],
    ['denied', askingPod({ hostPID: true }, denied)],
    ['invalid', 7],
  ]
  for (const [name, pod] of pods) {
    const { response } = answerIn({ review: { uid: 'a-b-c' } }, pod)
    t.match(response, {
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      response: { uid: 'a-b-c' },
    })
    t.equal(response.response.patch !== undefined, name === 'injected', `a pod that is ${name}`)
  }
})

t.test(
  'after a defect of the webhook, a pod is allowed unchanged, even with on-error: deny',
  async (t) => {
    const defects: [string, Catalog][] = [
      ['an invalid catalog', { revision: 'x', metrics: null as never, defaultMetrics: [] }],
      [
        'an invalid metric',
        { revision: 'x', metrics: new Map([['perf-sysstat', {} as never]]), defaultMetrics: [] },
      ],
    ]
    for (const [name, catalog] of defects) {
      const pod = askingPod({}, { 'ridealong.dev/on-error': 'deny' })
      const { decision, operations, response, fault } = answerIn({ catalog }, pod)
      t.match(decision, { outcome: 'left', reason: 'internal-error' }, name)
      t.strictSame(operations, [])
      t.equal(response.response.allowed, true)
      t.equal(response.response.patch, undefined)
      t.equal(response.response.warnings?.length, 1, 'there is a warning')
      t.match(response.response.warnings?.[0], 'ridealong: internal-error: ')
      t.type(fault, Error, 'the defect is returned for the log')
    }
  },
)

t.test('fault is undefined if the webhook has no defect', async (t) => {
  for (const pod of [askingPod(), podOf(), askingPod({ hostPID: true }), 7]) {
    t.equal(answerIn({}, pod).fault, undefined)
  }
})

t.test('a pod without a request and an injected pod cause no warning', async (t) => {
  t.strictSame(ride(podOf()).warnings, [])
  t.strictSame(ride(podOf({ 'ridealong.dev/inject': 'false' })).warnings, [])
  t.strictSame(ride(askingPod()).warnings, [], 'an injected pod causes no warning')
})

t.test('a dry run gets the same answer as a real creation', async (t) => {
  for (const pod of [askingPod(), podOf(), askingPod({ hostPID: true })]) {
    t.strictSame(answerIn({ review: { dryRun: true } }, pod), answerIn({}, pod))
  }
})

t.test('the same review always gets the same answer, and is not changed', async (t) => {
  const review = reviewOf(full())
  const before = structuredClone(review)
  const settings = {
    catalog: CATALOG,
    namespace: readNamespace('hpc', {}),
    excludedNamespaces: new Set<string>(),
  }
  const first = reviewPod(review, settings)
  t.strictSame(reviewPod(review, settings), first)
  t.strictSame(review, before)
  t.equal(first.decision.outcome, 'injected')
})

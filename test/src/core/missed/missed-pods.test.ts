import t from 'tap'
import { KEYS, STATUS_KEY } from '../../../../src/core/keys.ts'
import { findMissedPod } from '../../../../src/core/missed/missed-pods.ts'
import { readNamespace } from '../../../../src/core/namespaces/namespace.ts'
import { leftStatus } from '../../../../src/core/status.ts'
import { askingPod, CATALOG, type Json, ride } from '../build.ts'

const ASKING = { [KEYS.inject]: 'perf-sysstat' }
const BEFORE = '2026-01-01T12:00:00Z'
const THEN = '2026-01-01T12:00:05Z'
const AFTER = '2026-01-01T12:00:06Z'

/**
 * Returns an entry of managedFields for the owner of the annotation `inject`, and optionally of
 * other fields.
 */
const owner = (time: string, others: Json = {}) => ({
  time,
  fieldsV1: { 'f:metadata': { 'f:annotations': { [`f:${KEYS.inject}`]: {} } }, ...others },
})

/** Returns a namespace with the annotation `inject`, by default since the time THEN. */
const asking = (managedFields: unknown = [owner(THEN)]) =>
  readNamespace('hpc', { metadata: { name: 'hpc', annotations: ASKING, managedFields } })

/** A namespace without the annotation `inject`. */
const QUIET = readNamespace('hpc', { metadata: { name: 'hpc' } })

const UID = '0f9d3c1e-5b7a-4c2d-9e8f-1a2b3c4d5e6f'
const JOB = { apiVersion: 'batch/v1', kind: 'Job', name: 'lammps', uid: UID, controller: true }

function pod(annotations: Json = {}, metadata: Json = {}, spec: Json = {}): Json {
  const named = { name: 'lammps-0', namespace: 'hpc', uid: 'u-pod', creationTimestamp: AFTER }
  return { metadata: { ...named, ownerReferences: [JOB], annotations, ...metadata }, spec }
}

const reasonOf = (object: Json, namespace = QUIET, excluded: readonly string[] = []) =>
  findMissedPod(object, { namespace, excludedNamespaces: new Set(excluded), catalog: CATALOG })
    ?.reason

/** Checks a pod in the namespace QUIET. Returns undefined if the pod was not missed. */
const foundIn = (object: Json) =>
  findMissedPod(object, { namespace: QUIET, excludedNamespaces: new Set(), catalog: CATALOG })

const status = (metrics: readonly string[]) => JSON.stringify({ outcome: 'injected', metrics })

t.test(
  'a pod that requested observers and has no or an empty status annotation was missed',
  async (t) => {
    t.equal(reasonOf(pod(ASKING)), 'unanswered')
    t.equal(reasonOf(pod({ ...ASKING, [STATUS_KEY]: '' })), 'unanswered')
    t.equal(reasonOf(pod(), asking()), 'unanswered')
  },
)

t.test(
  'a pod without a request, a pod in an excluded namespace and a mirror pod were not missed',
  async (t) => {
    for (const inject of ['', ' , ', 'false', ' false ']) {
      t.equal(reasonOf(pod({ [KEYS.inject]: inject }), asking()), undefined, `inject: "${inject}"`)
    }
    t.equal(reasonOf(pod()), undefined)
    t.equal(reasonOf(pod(ASKING), QUIET, ['hpc']), undefined, 'the namespace is excluded')
    t.equal(reasonOf(pod({ ...ASKING, 'kubernetes.io/config.mirror': 'x' })), undefined)
    t.equal(reasonOf({}), undefined)
  },
)

t.test('a pod with any text in its status annotation was not missed', async (t) => {
  for (const answer of [leftStatus('host-pid', 'x'), 'nonsense', '{}']) {
    t.equal(reasonOf(pod({ ...ASKING, [STATUS_KEY]: answer })), undefined, answer)
  }
})

t.test('a pod that is not selected, or whose index is not known, was not missed', async (t) => {
  const labels = { 'batch.kubernetes.io/job-completion-index': '3' }
  const selecting = { ...ASKING, [KEYS.pods]: 'every:4' }
  for (const [metadata, reason] of [
    [{ labels }, 'pod-not-selected'],
    [{}, 'pod-index-unknown'],
  ] as const) {
    const answered = ride(pod(selecting, metadata, { containers: [{ name: 'app' }] }))
    t.equal(answered.word, reason)
    t.equal(reasonOf(answered.pod as unknown as Json), undefined)
    t.equal(reasonOf(answered.pod as unknown as Json, asking()), undefined)
  }
})

t.test('a pod without space for another annotation of 768 bytes was not missed', async (t) => {
  t.equal(reasonOf(pod({ ...ASKING, long: 'x'.repeat(256 * 1024 - 100) })), undefined)
  t.equal(reasonOf(pod({ ...ASKING, long: 'x'.repeat(255 * 1024) })), 'unanswered')
})

t.test('a pod that is older than the annotation of its namespace was not missed', async (t) => {
  t.equal(reasonOf(pod({}, { creationTimestamp: BEFORE }), asking()), undefined)
  t.equal(
    reasonOf(pod({}, { creationTimestamp: THEN }), asking()),
    undefined,
    'the pod and the annotation have the same time',
  )
  t.equal(reasonOf(pod({}, {}), asking([])), undefined, 'the time of the annotation is unknown')
  const both = asking([owner(AFTER), owner(BEFORE)])
  t.equal(reasonOf(pod({}, { creationTimestamp: THEN }), both), 'unanswered')
  t.equal(
    reasonOf(pod(ASKING, { creationTimestamp: BEFORE }), asking()),
    'unanswered',
    'the pod has its own annotation',
  )
})

t.test('a pod that was annotated after its creation was not missed', async (t) => {
  const later = { managedFields: [{ time: AFTER, fieldsV1: { 'f:spec': {} } }, owner(AFTER)] }
  t.equal(reasonOf(pod(ASKING, later)), undefined)
  const first = { managedFields: [owner(AFTER, { 'f:spec': {} })] }
  t.equal(
    reasonOf(pod(ASKING, first)),
    'unanswered',
    'the manager that created the pod owns the annotation',
  )
})

t.test('a pod that lost shareProcessNamespace after its injection was altered', async (t) => {
  const said = { ...ASKING, [STATUS_KEY]: status(['perf-sysstat']) }
  const initContainers = [{ name: 'perf-sysstat', restartPolicy: 'Always' }]
  const whole = { initContainers, shareProcessNamespace: true }
  t.equal(reasonOf(pod(said, {}, whole)), undefined)
  t.equal(reasonOf(pod(said, {}, { initContainers })), 'altered')
})

t.test('a pod that lost a variable of a tool after its injection was altered', async (t) => {
  const text = JSON.stringify({
    ...JSON.parse(status(['perf-sysstat'])),
    variables: ['LD_PRELOAD'],
  })
  const containers = [{ name: 'app', env: [{ name: 'LD_PRELOAD', value: '/x.so' }] }]
  const initContainers = [{ name: 'perf-sysstat', restartPolicy: 'Always' }]
  const spec = { initContainers, containers, shareProcessNamespace: true }
  const injected = { ...ASKING, [STATUS_KEY]: text }
  t.equal(reasonOf(pod(injected, {}, spec)), undefined)
  t.equal(reasonOf(pod(injected, {}, { ...spec, containers: [{ name: 'app' }] })), 'altered')
})

/** Returns an injected pod with these changes to its status annotation and to its observer. */
function observed(status: Json = {}, change: Json = {}): Json {
  const { metadata, spec } = ride(askingPod()).pod
  const own = JSON.parse(metadata.annotations?.[STATUS_KEY] ?? '')
  const said = { ...metadata.annotations, [STATUS_KEY]: JSON.stringify({ ...own, ...status }) }
  const initContainers = (spec.initContainers ?? []).map((one) => ({ ...one, ...change }))
  return pod(said, {}, { ...spec, initContainers })
}

t.test('a pod whose observer differs from the current catalog was altered', async (t) => {
  t.equal(reasonOf(observed()), undefined)
  const changes = [
    { image: 'registry.example/miner:1' },
    { command: ['sh', '-c', 'exit'] },
    { args: ['--more'] },
    { name: 'of-nobody' },
  ]
  for (const change of changes) {
    const metrics = [change.name ?? 'perf-sysstat']
    t.equal(reasonOf(observed({ metrics }, change)), 'altered', JSON.stringify(change))
    t.equal(
      reasonOf(observed({ metrics, catalog: '00000000' }, change)),
      undefined,
      'the status annotation names another catalog',
    )
    t.equal(
      reasonOf(observed({ metrics, catalog: undefined }, change)),
      undefined,
      'the status annotation names no catalog',
    )
  }
  t.equal(reasonOf(observed({}, { imagePullPolicy: 'Always', env: [] })), undefined)
})

t.test('a copy of an injected pod, which has no status annotation, was not missed', async (t) => {
  for (const mode of ['native', 'container']) {
    const { spec } = ride(askingPod({}, { [KEYS.mode]: mode })).pod as unknown as { spec: Json }
    t.equal(reasonOf(pod({}, {}, spec), asking()), undefined, mode)
    t.equal(reasonOf(pod(ASKING, {}, spec)), undefined, mode)
  }
  const own = [{ name: 'perf-sysstat', image: 'own', env: [{ name: 'A', value: 'b' }] }]
  t.equal(reasonOf(pod(ASKING, {}, { containers: own })), 'unanswered', 'no observer')
})

t.test('a pod that got no observers because no node had the image is reported', async (t) => {
  const message = 'no node is known to have observer:1, the image of perf-sysstat'
  const said = { ...ASKING, [STATUS_KEY]: leftStatus('observer-unavailable', message) }
  t.equal(reasonOf(pod(said)), 'observer-unavailable')
})

t.test('a pod that lacks a metric is reported only if no node had its image', async (t) => {
  const place = { labels: { 'ridealong.dev/privilege': 'privileged' } }
  const both = askingPod({}, { [KEYS.inject]: 'perf-sysstat,trace-stat,nobody' })
  const created = (images: readonly string[]) => {
    const { pod: patched } = ride(both, { ...place, heldImages: images })
    const { metadata, spec } = patched as unknown as Record<string, Json>
    return pod(metadata?.annotations as Json, {}, spec)
  }
  const [observer, tracer] = ['registry.example/observer:1', 'registry.example/tracer:1']
  t.equal(reasonOf(created([observer])), 'observer-unavailable')
  t.equal(reasonOf(created([tracer])), 'observer-unavailable')
  t.equal(reasonOf(created([observer, tracer])), undefined)
  const altered = { ...(created([observer]).spec as Json), initContainers: [] }
  const { metadata } = created([observer])
  t.equal(reasonOf({ metadata, spec: altered }), 'altered')
})

t.test(
  'a missed pod is reported with its name, its creation time and its controller, if any',
  async (t) => {
    const { controller: _, ...reference } = JOB
    t.strictSame(foundIn(pod(ASKING)), {
      reason: 'unanswered',
      namespace: 'hpc',
      pod: 'lammps-0',
      created: AFTER,
      regarding: reference,
    })
    const forged = { ...JOB, name: '\u001b[2J', uid: 'x' }
    for (const ownerReferences of [undefined, [{ ...JOB, controller: false }], [forged], 'x']) {
      t.strictSame(foundIn(pod(ASKING, { ownerReferences }))?.regarding, {
        apiVersion: 'v1',
        kind: 'Pod',
        name: 'lammps-0',
        uid: 'u-pod',
      })
    }
  },
)

t.test('a missed pod is reported without the text of its status annotation', async (t) => {
  const text = 'call 555-0100 to get your pod back'
  const forged = [
    leftStatus('observer-unavailable', text),
    JSON.stringify({ outcome: 'injected', metrics: [text] }),
  ]
  for (const said of forged) {
    const found = foundIn(pod({ ...ASKING, [STATUS_KEY]: said }))
    t.ok(found)
    t.notMatch(JSON.stringify(found), text)
  }
})

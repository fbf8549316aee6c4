import t from 'tap'
import {
  askingPod,
  CATALOG,
  type Json,
  type Place,
  type PodObject,
  podOf,
  ride,
  type Texts,
} from '../build.ts'

const BOTH = { 'ridealong.dev/inject': 'perf-sysstat,io-sysstat' }
const DENY = { 'ridealong.dev/on-error': 'deny' }
const PERF = { 'ridealong.dev/inject': 'perf-sysstat' }

/** Returns the spec of an injected pod. */
function injectedSpec(annotations: Texts = BOTH, place: Place = {}): Json & PodObject['spec'] {
  const { pod, word } = ride(podOf(annotations), place)
  if (word !== 'injected') throw new Error(`the pod was not injected: ${word}`)
  return pod.spec as Json & PodObject['spec']
}

/** Returns a copy as `kubectl debug --copy-to` creates it: no annotations, another container. */
function copyOf(spec: PodObject['spec'], more: Json = {}): Json {
  const debugger_ = { name: 'debugger-x1', image: 'busybox', stdin: true, tty: true }
  const copied = { ...spec, containers: [...spec.containers, debugger_], ...more }
  return { ...podOf({}, copied), metadata: { name: 'dbg' } }
}

t.test('the observers of a copy without annotations are recognized', async (t) => {
  for (const mode of ['native', 'container']) {
    const copy = copyOf(injectedSpec({ ...BOTH, 'ridealong.dev/mode': mode }))
    for (const annotations of [BOTH, { ...BOTH, ...DENY }, { ...PERF, ...DENY }]) {
      const { word, isPatched, allowed } = ride(copy, { annotations })
      t.equal(word, 'already-injected', mode)
      t.notOk(isPatched, 'the copy is not changed')
      t.ok(allowed)
    }
  }
})

t.test('a copy gets the observers that it lacks', async (t) => {
  const { observers, word } = ride(copyOf(injectedSpec(PERF)), { annotations: BOTH })
  t.equal(word, 'injected')
  t.strictSame(Object.keys(observers), ['io-sysstat'])
})

t.test('new default metrics do not change pods that have the former ones', async (t) => {
  const inject = (value: string) => ({ 'ridealong.dev/inject': value })
  const next = { ...CATALOG, revision: '11111111', defaultMetrics: ['io-sysstat'] }
  const { pod, status } = ride(podOf(inject('true')))
  t.strictSame(status?.metrics, ['perf-sysstat'])
  const copy = copyOf(injectedSpec(inject('true')))
  for (const [name, before, annotations] of [
    ['a pod with its status', pod, {}],
    ['a copy without annotations', copy, inject('enabled')],
  ] as const) {
    const { word, isPatched } = ride(before, { catalog: next, annotations })
    t.equal(word, 'already-injected', name)
    t.notOk(isPatched, name)
  }
  const created = ride(podOf(inject('true')), { catalog: next })
  t.strictSame(Object.keys(created.observers), ['io-sysstat'], 'a new pod gets the new defaults')
  const named = {
    ...pod,
    metadata: { annotations: { ...pod.metadata.annotations, ...inject('true,io-sysstat') } },
  }
  const added = ride(named, { catalog: next })
  t.strictSame(Object.keys(added.observers), ['io-sysstat'], 'a named metric is added')
  const same = { ...CATALOG, defaultMetrics: ['perf-sysstat', 'io-sysstat'] }
  const missing = ride(pod, { catalog: same })
  t.strictSame(Object.keys(missing.observers), ['io-sysstat'], 'missing in the same catalog')
})

t.test('a forged status does not decide about default metrics', async (t) => {
  const forged = JSON.stringify({ outcome: 'injected', metrics: ['app'], catalog: '11111111' })
  const annotations = { 'ridealong.dev/inject': 'true,io-sysstat', 'ridealong.dev/status': forged }
  const { pod, observers } = ride(podOf(annotations))
  t.strictSame(Object.keys(observers), ['perf-sysstat', 'io-sysstat'])
  const again = ride(pod)
  t.equal(again.word, 'already-injected')
  t.notOk(again.isPatched, 'a second review changes nothing')
})

t.test('a default metric whose observer differs is reported as before', async (t) => {
  const { pod } = ride(podOf({ 'ridealong.dev/inject': 'true' }))
  const initContainers = pod.spec.initContainers?.map((one) => ({ ...one, image: 'old' }))
  const catalog = { ...CATALOG, revision: '11111111', defaultMetrics: ['io-sysstat'] }
  const outcome = ride({ ...pod, spec: { ...pod.spec, initContainers } }, { catalog })
  t.equal(outcome.word, 'observer-differs')
})

t.test('an observer of another catalog in a copy is left, and never denied', async (t) => {
  const spec = injectedSpec(PERF)
  const older = spec.initContainers?.map((one) => ({ ...one, image: 'registry.example/old:0' }))
  const copy = copyOf(spec, { initContainers: older })
  const { word, allowed, message } = ride(copy, { annotations: { ...PERF, ...DENY } })
  t.equal(word, 'observer-differs')
  t.ok(allowed)
  t.match(message, 'old:0')
})

t.test('an observer in a copy gets a removed restartPolicy back', async (t) => {
  const spec = injectedSpec(PERF)
  const stripped = spec.initContainers?.map(({ restartPolicy, ...one }) => one)
  const copy = copyOf(spec, { initContainers: stripped })
  const { word, pod } = ride(copy, { annotations: PERF })
  t.equal(word, 'restored')
  t.equal(pod.spec.initContainers?.[0]?.restartPolicy, 'Always')
})

t.test('a copy whose author does not share processes stays as it is', async (t) => {
  const copy = copyOf(injectedSpec(PERF), { shareProcessNamespace: false })
  const { word, isPatched } = ride(copy, { annotations: PERF })
  t.equal(word, 'already-injected')
  t.notOk(isPatched)
})

t.test('a copy is never denied, whatever the request of the namespace', async (t) => {
  const requests: Texts[] = [
    { ...PERF, 'ridealong.dev/pods': '0-3' },
    { ...PERF, 'ridealong.dev/mode': 'other' },
    { ...PERF, 'ridealong.dev/target-container': 'other' },
    { 'ridealong.dev/inject': 'perf-sysstat,root-stat' },
  ]
  for (const request of requests) {
    const { allowed, isPatched } = ride(copyOf(injectedSpec(PERF)), {
      annotations: { ...request, ...DENY },
    })
    t.ok(allowed, JSON.stringify(request))
    t.notOk(isPatched)
  }
})

t.test('a copy without init containers is recognized by its volumes', async (t) => {
  const tools = { labels: { 'ridealong.dev/tools': 'true' } }
  const profile = { 'ridealong.dev/inject': 'cpu-profile' }
  const spec = injectedSpec(profile, tools)
  const copy = copyOf(spec, { initContainers: [] })
  const { word, allowed } = ride(copy, { ...tools, annotations: { ...profile, ...DENY } })
  t.equal(word, 'variable-taken', 'the target still has the variables of the tool')
  t.ok(allowed)
})

t.test('a container with the name of a metric that is no observer is still denied', async (t) => {
  const sameName = {
    name: 'perf-sysstat',
    image: 'own',
    command: ['perf-sysstat'],
    env: [{ name: 'A' }],
  }
  const { word, allowed } = ride(askingPod({ containers: [sameName] }, DENY))
  t.equal(word, 'name-taken')
  t.notOk(allowed)
})

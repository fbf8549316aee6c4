import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import type { Cluster } from '../machine/cluster.ts'
import { kubectl } from '../machine/kubectl.ts'
import { run, tools } from '../machine/tools.ts'
import { createNamespace, runningCluster } from '../running.ts'
import { until } from '../until.ts'

// Tests of the chart's policies in a real apiserver, without a webhook. Therefore the guard's
// warning is the only message about a pod that requested observers.

const CHART = fileURLToPath(new URL('../../../charts/ridealong', import.meta.url))
const NAME = 'policies'

/** Reports whether the apiserver has image volumes by default. */
const hasImageVolumes = ({ version }: Cluster) => !version.startsWith('v1.30.')

/** Installs some templates of the chart until the test ends. */
function install(t: Test, cluster: Cluster, ...templates: readonly string[]): Promise<void> {
  return installWith(t, cluster, templates, [])
}

/** @param values more arguments of `helm template` */
async function installWith(
  t: Test,
  cluster: Cluster,
  templates: readonly string[],
  values: readonly string[],
): Promise<void> {
  const helm = join(await tools('helm-4', () => {}), 'helm')
  const manifests = await run(helm, [
    ...['template', NAME, CHART, '--namespace', 'ridealong-system'],
    ...['--set', `fullnameOverride=${NAME}`],
    ...['--set', 'imageHolder.enabled=false', '--set', 'tools.metrics={cpu-profile,mpi-trace}'],
    ...['--set', 'guard.denyNamespaceSelector.matchLabels.guard=deny'],
    ...values,
    ...templates.flatMap((template) => ['--show-only', `templates/${template}`]),
  ])
  await kubectl(cluster, ['apply', '--server-side', '-f', '-'], manifests)
  t.teardown(() => kubectl(cluster, ['delete', '-f', '-'], manifests))
}

const STATUS = JSON.stringify({
  outcome: 'injected',
  metrics: ['perf-sysstat', 'io-sysstat'],
  mode: 'native',
})
const TOOLED = STATUS.replace('}', ',"variables":["LD_PRELOAD","app/TRACE"]}')
const LEFT = JSON.stringify({ outcome: 'left', reason: 'host-pid', message: 'x' })

const observer = (name: string) => ({ name, image: 'o', restartPolicy: 'Always' })
const OBSERVERS = [observer('perf-sysstat'), observer('io-sysstat')]

function podOf(annotations: object | undefined, spec: object = {}) {
  const containers = [{ name: 'app', image: 'a' }]
  const metadata = { generateName: 'guarded-', ...(annotations && { annotations }) }
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers, ...spec } }
}

const asks = (inject: string) => podOf({ 'ridealong.dev/inject': inject })
const ASKING = { 'ridealong.dev/inject': 'perf-sysstat' }
const answered = (status: string, spec: object = {}) =>
  podOf({ 'ridealong.dev/inject': 'perf-sysstat,io-sysstat', 'ridealong.dev/status': status }, spec)

const UNANSWERED =
  'the pod requests observers, but the Ridealong webhook did not answer, so it has none'
const ALTERED = 'an observer was removed or altered after Ridealong added it:'

const [PERF, IO] = OBSERVERS
const SHARED = { shareProcessNamespace: true }
const WHOLE = { ...SHARED, initContainers: OBSERVERS }
const withEnv = (...names: readonly string[]) => ({
  ...WHOLE,
  containers: [{ name: 'app', image: 'a', env: names.map((name) => ({ name, value: 'x' })) }],
})
const STRIPPED = { name: 'io-sysstat', image: 'o' }

/** Returns a mount of the volume of a tool. */
const mountOf = (mountPath: string, more: object = {}) => {
  return { name: 'ridealong-tool-perf-sysstat-0', mountPath, ...more }
}
const VOLUME = { name: 'ridealong-tool-perf-sysstat-0', emptyDir: {} }
const INSTALLER = { name: 'install', image: 'i', volumeMounts: [mountOf('/ridealong/volume')] }
const RESULTS = { subPath: 'results' }
const EQUIPPED = {
  ...observer('perf-sysstat'),
  env: [{ name: 'RIDEALONG_TOOL_SIZE_LIMIT', value: '1' }],
  volumeMounts: [mountOf('/ridealong/results', RESULTS)],
}

/** Returns a pod whose observer perf-sysstat has a tool, with these init containers and mounts. */
const equipped = (init: readonly object[], mounts: readonly object[] = [mountOf('/r', RESULTS)]) =>
  answered(STATUS, {
    ...SHARED,
    volumes: [VOLUME],
    initContainers: [...init, observer('io-sysstat')],
    containers: [{ name: 'app', image: 'a', volumeMounts: mounts }],
  })
const UNEQUIPPED = [`${ALTERED} the tool of perf-sysstat`]
const IMAGE_VOLUME = { name: 'ridealong-lib-perf-sysstat-0', image: { reference: 'i' } }

/** Returns a pod whose observer perf-sysstat has a tool that is mounted from its image. */
const mountedFrom = (volume: object) =>
  answered(STATUS, {
    ...SHARED,
    volumes: [VOLUME, volume],
    initContainers: [EQUIPPED, observer('io-sysstat')],
    containers: [{ name: 'app', image: 'a', volumeMounts: [mountOf('/r', RESULTS)] }],
  })

/** A namespace, a pod in it, and the warnings of the guard about the pod. */
const PODS: readonly (readonly [string, object, readonly string[]])[] = [
  ['guard-silent', podOf(undefined), []],
  ['guard-silent', podOf({}), []],
  ['guard-silent', asks(''), []],
  ['guard-silent', asks(' , '), []],
  ['guard-silent', asks(' false '), []],
  ['guard-silent', asks('disabled'), []],
  // The webhook writes no status if the annotations have no room for it.
  ['guard-silent', podOf({ ...ASKING, padding: 'x'.repeat(256 * 1024 - 500) }), []],
  ['guard-silent', podOf({ ...ASKING, padding: 'x'.repeat(255 * 1024) }), [UNANSWERED]],
  ['guard-silent', asks('false, disabled ,false'), []],
  ['guard-silent', asks('perf-sysstat'), [UNANSWERED]],
  ['guard-silent', asks('true'), [UNANSWERED]],
  ['guard-silent', asks(' enabled '), [UNANSWERED]],
  ['guard-silent', asks('true,false'), [UNANSWERED]],
  ['guard-asks', podOf(undefined), [UNANSWERED]],
  ['guard-asks', asks('false'), []],
  ['guard-asks', asks('disabled'), []],
  ['guard-asks', podOf(undefined, { initContainers: [copied(PERF)] }), []],
  ['guard-asks', podOf(undefined, { containers: [copied(plain(PERF))] }), []],
  ['guard-asks', podOf(undefined, { initContainers: [PERF] }), [UNANSWERED]],
  ['guard-silent', answered(LEFT), []],
  ['guard-silent', answered('not JSON'), []],
  ['guard-silent', answered(STATUS, { ...SHARED, initContainers: OBSERVERS }), []],
  ['guard-silent', answered(STATUS, { ...SHARED, containers: [PERF, IO].map(plain) }), []],
  ['guard-silent', answered(STATUS, SHARED), [`${ALTERED} perf-sysstat, io-sysstat`]],
  [
    'guard-silent',
    answered(STATUS, { ...SHARED, initContainers: [PERF] }),
    [`${ALTERED} io-sysstat`],
  ],
  [
    'guard-silent',
    answered(STATUS, { ...SHARED, initContainers: [PERF, STRIPPED] }),
    [`${ALTERED} io-sysstat`],
  ],
  [
    'guard-silent',
    answered(STATUS.replace('io-sysstat', '\u009b2J\u202e')),
    [`${ALTERED} perf-sysstat, an invalid name`],
  ],
  ['guard-silent', answered(TOOLED, withEnv('LD_PRELOAD', 'TRACE')), []],
  ['guard-silent', answered(TOOLED, withEnv('LD_PRELOAD')), [`${ALTERED} variable app/TRACE`]],
  ['guard-silent', answered(TOOLED, WHOLE), [`${ALTERED} variable LD_PRELOAD, variable app/TRACE`]],
  [
    'guard-silent',
    answered(TOOLED.replace('LD_PRELOAD', '\u009b2J\u202e'), withEnv('TRACE')),
    [`${ALTERED} an invalid name`],
  ],
  ['guard-silent', equipped([INSTALLER, EQUIPPED]), []],
  ['guard-silent', equipped([EQUIPPED]), UNEQUIPPED],
  ['guard-silent', mountedFrom({ ...IMAGE_VOLUME, emptyDir: {}, image: undefined }), UNEQUIPPED],
  ['guard-silent', equipped([INSTALLER, { ...EQUIPPED, volumeMounts: [] }]), UNEQUIPPED],
  ['guard-silent', equipped([INSTALLER, EQUIPPED], []), UNEQUIPPED],
  [
    'guard-silent',
    equipped([INSTALLER, EQUIPPED], [mountOf('/r', { ...RESULTS, readOnly: true })]),
    UNEQUIPPED,
  ],
  [
    'guard-silent',
    answered(STATUS, { initContainers: OBSERVERS }),
    [`${ALTERED} shareProcessNamespace is not true`],
  ],
]

/** Pods that only a Kubernetes with image volumes accepts. */
const PODS_WITH_IMAGES: typeof PODS = [
  ['guard-silent', mountedFrom(IMAGE_VOLUME), []],
  ['guard-silent', mountedFrom({ ...IMAGE_VOLUME, name: 'ridealong-lib-other-0' }), UNEQUIPPED],
]

t.test('the guard warns about missing and altered observers', async (t) => {
  const { cluster, api } = await runningCluster(t)
  await createNamespace(t, api, 'guard-asks', { annotations: { 'ridealong.dev/inject': 'a' } })
  await createNamespace(t, api, 'guard-silent')
  await install(t, cluster, 'guard.yaml')
  const warnings = async (namespace: string, pod: object) => {
    const answer = await api.post(`/api/v1/namespaces/${namespace}/pods?dryRun=All`, pod)
    t.equal(answer.status, 201, 'the pod is created')
    return answer.warnings.map((warning) => warning.replace(/^.*' with binding '\S+': /, ''))
  }
  await until('the guard takes effect', async () => {
    return (await warnings('guard-silent', asks('perf-sysstat'))).length > 0
  })
  const pods = hasImageVolumes(cluster) ? [...PODS, ...PODS_WITH_IMAGES] : PODS
  for (const [namespace, pod, expected] of pods) {
    t.same(await warnings(namespace, pod), expected, `the warnings about ${JSON.stringify(pod)}`)
  }
})

/** Returns a container with the variable of an observer, as in a copy by `kubectl debug`. */
function copied(container: object | undefined) {
  return { ...container, env: [{ name: 'A' }, { name: 'RIDEALONG_CATALOG', value: '0' }] }
}

function plain(container: object | undefined) {
  return { ...container, restartPolicy: undefined }
}

t.test('the guard denies pods in namespaces that denyNamespaceSelector selects', async (t) => {
  const { cluster, api } = await runningCluster(t)
  await createNamespace(t, api, 'guard-deny', { labels: { guard: 'deny' } })
  await install(t, cluster, 'guard.yaml')
  const path = '/api/v1/namespaces/guard-deny/pods?dryRun=All'
  await until('the guard denies the pod', async () => {
    return (await api.post(path, asks('perf-sysstat'))).status === 422
  })
  const { status } = await api.post(path, podOf({}))
  t.equal(status, 201, 'a pod that requests no observers is created')
})

/**
 * Patches a namespace.
 *
 * @param user the options of kubectl that name the user
 * @returns `done`, or the error message
 */
function patchAs(
  cluster: Cluster,
  namespace: string,
  user: readonly string[],
  metadata: object,
): Promise<string> {
  return kubectl(cluster, [
    ...['patch', 'namespace', namespace, '--type=merge', ...user],
    ...['--patch', JSON.stringify({ metadata })],
  ]).then(
    () => 'done',
    (error: Error) => error.message,
  )
}

t.test('the webhook may change only the label ridealong.dev/armed of a namespace', async (t) => {
  const { cluster, api } = await runningCluster(t)
  const name = 'fenced'
  await createNamespace(t, api, name, { labels: { a: 'b' }, annotations: { c: 'd' } })
  // rbac.yaml grants reading, because kubectl and the webhook read an object before they patch it.
  await install(t, cluster, 'rbac.yaml', 'arming.yaml')
  const account = `system:serviceaccount:ridealong-system:${NAME}`
  const patch = async (metadata: object) => {
    const message = await patchAs(cluster, name, ['--as', account], metadata)
    return / denied request: (.*)/.exec(message)?.[1] ?? message
  }
  const label = (value: string | null) => patch({ labels: { 'ridealong.dev/armed': value } })
  await until('the role takes effect', async () => (await label('true')) === 'done')
  let tries = 0
  await until('the policy takes effect', async () => {
    tries += 1
    return (await patch({ labels: { e: `${tries}` } })) !== 'done'
  })
  t.equal(await label(null), 'done')
  t.equal(await label('true'), 'done')
  t.match(await label('maybe'), 'only to true')
  const others = 'may change only the label'
  t.match(await patch({ labels: { a: null } }), others)
  t.match(await patch({ labels: { a: 'x' } }), others)
  t.match(await patch({ labels: { 'ridealong.dev/armed': 'true', g: 'h' } }), others)
  const mark = { labels: { 'ridealong.dev/moved-from': 'default' } }
  t.match(await patch(mark), others, 'the label moved-from cannot be set')
  await api.merge(`/api/v1/namespaces/${name}`, { metadata: mark })
  t.match(await patch({ labels: { 'ridealong.dev/moved-from': 'other' } }), others)
  t.equal(await patch({ labels: { 'ridealong.dev/moved-from': null } }), 'done')
  const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'l', uid: 'm' }
  for (const metadata of [
    ...[{ annotations: { c: null } }, { annotations: { i: 'j' } }],
    ...[{ finalizers: ['example.com/k'] }, { ownerReferences: [owner] }],
  ])
    t.match(await patch(metadata), 'may change nothing of a namespace except')
  const { body } = await api.merge(`/api/v1/namespaces/${name}`, {
    metadata: { labels: { n: 'o' } },
  })
  t.equal(body.metadata.labels.n, 'o', 'the policy does not restrict other users')
})

const IMAGE = 'ghcr.io/ridealong/observer:0.1.0'
const observerOf = (more: object = {}) => ({
  ...{ name: 'perf-sysstat', image: IMAGE, command: ['perf-sysstat'], restartPolicy: 'Always' },
  ...more,
})
const claiming = (...initContainers: readonly object[]) => {
  const status = JSON.stringify({ outcome: 'injected', metrics: ['perf-sysstat', 'setup'] })
  return podOf({ 'ridealong.dev/status': status }, { initContainers })
}

const NOT = 'a container differs from the observer of the catalog: perf-sysstat runs'

/** A description of a pod, the pod, and the warnings of the guard about it. */
const CLAIMS: readonly (readonly [string, object, readonly string[]])[] = [
  ["the catalog's observer", claiming(observerOf()), []],
  [
    'fields that other webhooks add',
    claiming(observerOf({ args: [], env: [{ name: 'A', value: 'b' }] })),
    [],
  ],
  [
    'another image',
    claiming(observerOf({ image: 'evil:1' })),
    [`${NOT} evil:1 instead of ${IMAGE}`],
  ],
  [
    'another command',
    claiming(observerOf({ command: ['sh', '-c', 'x'] })),
    [`${NOT} ${IMAGE} with a command or args that differ from the catalog`],
  ],
  [
    'no command',
    claiming(observerOf({ command: undefined })),
    [`${NOT} ${IMAGE} with a command or args that differ from the catalog`],
  ],
  [
    'added args',
    claiming(observerOf({ args: ['x'] })),
    [`${NOT} ${IMAGE} with a command or args that differ from the catalog`],
  ],
  [
    'a name that is not a metric',
    claiming({ name: 'setup', image: 'a' }),
    [`${NOT.replace('perf-sysstat', 'setup')} a, but the catalog has no metric of that name`],
  ],
  [
    'a pod whose status annotation says that it has no observers',
    podOf({ 'ridealong.dev/status': LEFT }, { initContainers: [observerOf({ image: 'x' })] }),
    [],
  ],
  [
    'a status annotation that is not JSON',
    podOf({ 'ridealong.dev/status': '{"outcome":"injected","metrics":["' }),
    [],
  ],
  ['a long status annotation', podOf({ 'ridealong.dev/status': 'x'.repeat(200_000) }), []],
]

t.test("the guard names containers that differ from the catalog's observers", async (t) => {
  const { cluster, api } = await runningCluster(t)
  await createNamespace(t, api, 'guard-observers')
  await install(t, cluster, 'guard-observers.yaml')
  const warnings = async (pod: object) => {
    const answer = await api.post('/api/v1/namespaces/guard-observers/pods?dryRun=All', pod)
    t.equal(answer.status, 201, 'the pod is created')
    return answer.warnings.map((warning) => warning.replace(/^.*' with binding '\S+': /, ''))
  }
  await until('only the policy of this test takes effect', async () => {
    const found = await warnings(claiming(observerOf({ image: 'other:1' })))
    return found.join() === `${NOT} other:1 instead of ${IMAGE}`
  })
  for (const [what, pod, expected] of CLAIMS) {
    t.same(await warnings(pod), expected, `the warnings about ${what}`)
  }
  const evil = claiming(observerOf({ image: 'evil:1' }))
  const said = [`${NOT} evil:1 instead of ${IMAGE}`]
  const mark = (value: string | null) => {
    const labels = { 'ridealong.dev/moved-from': value }
    return api.merge('/api/v1/namespaces/guard-observers', { metadata: { labels } })
  }
  await mark('canary')
  await until('a move from another release is known', async () => {
    return (await warnings(evil)).length === 0
  })
  await mark('default')
  await until('a mark with the own revision is known', async () => {
    return (await warnings(evil)).length > 0
  })
  t.same(await warnings(evil), said)
})

const LIBRARY = { name: 'ridealong-lib-mpi-trace-0' }
const OUTPUT = { name: 'ridealong-tool-mpi-trace-0' }
const TOOL_IMAGE = 'ghcr.io/ridealong/tools:0.1.0'
const INTO_TARGET = [
  { ...LIBRARY, mountPath: '/opt/ridealong/mpi-trace', readOnly: true },
  { ...OUTPUT, mountPath: '/var/opt/ridealong/mpi-trace', subPath: 'mpi-trace-results' },
]

/** Returns a pod with mpi-trace, whose tool is mounted from an image by these mounts. */
function tracedPod(reference: string, mounts: readonly object[] = INTO_TARGET) {
  const volumeMounts = [{ ...OUTPUT, mountPath: '/ridealong/results' }]
  const traced = { name: 'mpi-trace', image: IMAGE, command: ['mpi-trace'], volumeMounts }
  const status = JSON.stringify({ outcome: 'injected', metrics: ['mpi-trace'] })
  return podOf(
    { 'ridealong.dev/status': status },
    {
      volumes: [
        { ...LIBRARY, image: { reference } },
        { ...OUTPUT, emptyDir: {} },
      ],
      initContainers: [{ ...traced, restartPolicy: 'Always' }],
      containers: [{ name: 'app', image: 'a', volumeMounts: mounts }],
    },
  )
}

t.test('the guard compares the image and the mounts of a tool that is mounted', async (t) => {
  const { cluster, api } = await runningCluster(t)
  if (!hasImageVolumes(cluster)) {
    t.pass('the apiserver has no image volumes')
    return
  }
  await createNamespace(t, api, 'guard-images')
  const mounted = ['--set', 'tools.imageVolumes=true', '--kube-version=1.36.0']
  await installWith(t, cluster, ['guard-observers.yaml'], mounted)
  const warnings = async (pod: object) => {
    const answer = await api.post('/api/v1/namespaces/guard-images/pods?dryRun=All', pod)
    t.equal(answer.status, 201, JSON.stringify(answer.body))
    return answer.warnings.map((warning) => warning.replace(/^.*' with binding '\S+': /, ''))
  }
  const said = ['the installer, image or mounts of a tool differ from the catalog: mpi-trace']
  // The policy of the test before, which can be in effect still, warns about both pods.
  await until('only the policy of this test takes effect', async () => {
    const [evil, right] = [
      await warnings(tracedPod('evil:1')),
      await warnings(tracedPod(TOOL_IMAGE)),
    ]
    return evil.join() === said.join() && right.length === 0
  })
  t.same(await warnings(tracedPod(TOOL_IMAGE, INTO_TARGET.slice(1))), said, 'no library')
  t.same(await warnings(tracedPod(TOOL_IMAGE, INTO_TARGET.slice(0, 1))), said, 'no results')
  const [library, ...results] = INTO_TARGET
  const other = [{ ...library, ...OUTPUT }, ...results]
  t.same(await warnings(tracedPod(TOOL_IMAGE, other)), said, 'a library in another volume')
})

const RBAC = 'rbac.authorization.k8s.io'

/** Returns the manifests in the first block of YAML in a document. */
function manifestsIn(document: string): string {
  const path = fileURLToPath(new URL(`../../../docs/${document}`, import.meta.url))
  const [, yaml = ''] = /```yaml\n(.*?)```/s.exec(readFileSync(path, 'utf8')) ?? []
  return yaml
}

/** Returns the manifest of a role with which the user ann may change the label of tools. */
function rightToGrantTools(): string {
  const rules = [{ apiGroups: ['ridealong.dev'], resources: ['tools'], verbs: ['patch'] }]
  const granter = { kind: 'ClusterRole', name: 'tool-granter', apiGroup: RBAC }
  const subjects = [{ kind: 'User', name: 'ann', apiGroup: RBAC }]
  const items = [
    { kind: 'ClusterRole', rules },
    { kind: 'ClusterRoleBinding', roleRef: granter, subjects },
  ].map((one) => ({ ...one, apiVersion: `${RBAC}/v1`, metadata: { name: 'tool-granter' } }))
  // A list, because kubectl 1.30 cannot read several documents of JSON.
  return JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
}

async function applyUntilEnd(t: Test, cluster: Cluster, manifests: string): Promise<void> {
  await kubectl(cluster, ['apply', '-f', '-'], manifests)
  t.teardown(() => kubectl(cluster, ['delete', '-f', '-'], manifests))
}

/** Lets the user ann read and patch namespaces until the test ends. */
async function createAnnotator(t: Test, cluster: Cluster): Promise<void> {
  const role = ['create', 'clusterrole', 'annotator', '--verb=get,patch', '--resource=namespaces']
  const rights = ['--clusterrole=annotator', '--user=ann']
  const binding = ['create', 'clusterrolebinding', 'annotator', ...rights]
  for (const words of [role, binding]) await kubectl(cluster, words)
  t.teardown(() => kubectl(cluster, ['delete', 'clusterrole,clusterrolebinding', 'annotator']))
}

t.test(
  'the policy of docs/security.md restricts only the labels that grant something',
  async (t) => {
    const { cluster, api } = await runningCluster(t)
    const name = 'annotated'
    await createNamespace(t, api, name)
    await applyUntilEnd(t, cluster, manifestsIn('security.md'))
    await createAnnotator(t, cluster)
    const patch = (user: readonly string[], metadata: object) =>
      patchAs(cluster, name, user, metadata)
    const ann = ['--as', 'ann']
    const annotated = { annotations: { 'ridealong.dev/inject': 'perf-sysstat' } }
    const granted = { labels: { 'ridealong.dev/privilege': 'privileged' } }
    const allowed = { labels: { 'ridealong.dev/tools': 'true' } }
    await until('the role takes effect', async () => (await patch(ann, annotated)) === 'done')
    await until('the policy takes effect', async () => {
      await patch([], { labels: { 'ridealong.dev/privilege': null } })
      return (await patch(ann, granted)) !== 'done'
    })
    t.match(await patch(ann, granted), 'changing ridealong.dev/privilege needs the right to patch')
    t.equal(await patch(ann, annotated), 'done')
    t.equal(await patch(ann, { labels: { other: 'x' } }), 'done')
    t.equal(await patch([], granted), 'done', 'an administrator may change the label')
    t.match(
      await patch(ann, { labels: { 'ridealong.dev/privilege': null } }),
      'needs the right to patch',
    )
    const tools = 'changing ridealong.dev/tools needs the right to patch tools'
    t.match(await patch(ann, allowed), tools)
    t.equal(await patch([], allowed), 'done', 'an administrator may allow tools')
    t.match(await patch(ann, { labels: { 'ridealong.dev/tools': null } }), tools)
    t.match(await patch(ann, { labels: { 'ridealong.dev/tools': 'false' } }), tools)
    t.equal(await patch(ann, { labels: { other: null } }), 'done')
    await applyUntilEnd(t, cluster, rightToGrantTools())
    const forbidden = { labels: { 'ridealong.dev/tools': 'false' } }
    await until('the right takes effect', async () => (await patch(ann, forbidden)) === 'done')
    t.match(
      await patch(ann, { labels: { 'ridealong.dev/privilege': 'baseline' } }),
      'changing ridealong.dev/privilege needs',
      'the right to change one label is no right to change the other',
    )
  },
)

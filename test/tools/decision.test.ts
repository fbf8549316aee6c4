import t from 'tap'
import type { Catalog } from '../../src/core/catalog.ts'
import { buildCatalog } from '../../src/core/catalog.ts'
import {
  type Json,
  limitRange,
  metricDocument,
  resourceQuota,
  type Texts,
} from '../src/core/build.ts'
import { ALLOWED, containerIn, rideWith, TOOLS, toolDocument } from '../src/core/tools/build.ts'

const app = (more: Json = {}): Json => ({ name: 'app', image: 'app', ...more })
const CONTAINER = { 'ridealong.dev/mode': 'container' }

t.test('a metric with a tool needs a namespace with the label', async (t) => {
  const rows: [string, Texts][] = [
    ['injected', ALLOWED],
    ['tools-not-allowed', {}],
    ['tools-not-allowed', { 'ridealong.dev/tools': 'false' }],
    ['tools-not-allowed', { 'ridealong.dev/privilege': 'privileged' }],
  ]
  for (const [word, labels] of rows) {
    t.equal(rideWith('cpu-profile', {}, {}, { labels }).word, word, JSON.stringify(labels))
    t.equal(rideWith('perf-sysstat', {}, {}, { labels }).word, 'injected')
  }
  const both = rideWith('perf-sysstat,cpu-profile', {}, {}, { labels: {} })
  t.strictSame(Object.keys(both.observers), ['perf-sysstat'], 'the other metric is added')
  t.notOk(containerIn(both, 'app').env, 'the target does not load the library')
  const message =
    'metric cpu-profile loads a library into the application,' +
    ' which namespace "hpc" does not allow (label ridealong.dev/tools: "true")'
  const left = [{ metric: 'cpu-profile', reason: 'tools-not-allowed', message }]
  t.match(both.status, { metrics: ['perf-sysstat'], left })
  const own = rideWith('cpu-profile', {}, { 'ridealong.dev/tools': 'true' }, { labels: {} })
  t.equal(own.word, 'invalid-option', 'an annotation of the pod allows nothing')
})

t.test('a missing permission is reported before a taken variable or path', async (t) => {
  const env = [{ name: 'CPUPROFILE', value: 'x' }]
  const volumeMounts = [{ name: 'data', mountPath: '/opt' }]
  const pod = { containers: [app({ env, volumeMounts })] }
  t.equal(rideWith('cpu-profile', pod, {}, { labels: {} }).word, 'tools-not-allowed')
  t.equal(rideWith('cpu-profile', pod).word, 'variable-taken')
  t.equal(rideWith('cpu-profile', { containers: [app({ volumeMounts })] }).word, 'path-taken')
})

t.test('only variables and mounts of the target prevent an injection', async (t) => {
  const taken = { env: [{ name: 'CPUPROFILE' }], volumeMounts: [{ mountPath: '/' }] }
  const proxy = { name: 'proxy', restartPolicy: 'Always', ...taken }
  const spec = {
    initContainers: [{ name: 'setup', ...taken }, proxy],
    containers: [app(), { name: 'other', ...taken }],
  }
  t.equal(rideWith('cpu-profile', spec).word, 'injected')
  for (const target of ['other', 'proxy']) {
    const { word, message } = rideWith('cpu-profile', spec, {
      'ridealong.dev/target-container': target,
    })
    t.equal(word, 'variable-taken')
    t.match(message, `container "${target}" already has`)
  }
  const wrong = rideWith('cpu-profile', { containers: [app({ env: 'x' })] })
  t.equal(wrong.word, 'invalid-pod')
  t.equal(rideWith('perf-sysstat', { containers: [app({ env: 'x' })] }).word, 'injected')
})

t.test('no container may have the name of an installer', async (t) => {
  const named = { name: 'cpu-profile-install', image: 'x' }
  for (const spec of [{ initContainers: [named] }, { containers: [app(), named] }]) {
    const { word, message } = rideWith('cpu-profile', spec)
    t.equal(word, 'name-taken')
    t.equal(
      message,
      'container cpu-profile-install of the pod has the name of' +
        ' the init container that metric cpu-profile adds; rename the container',
    )
    t.equal(rideWith('perf-sysstat,mpi-trace', spec).word, 'injected')
  }
})

t.test('no requested metric may have the name of an installer', async (t) => {
  const documents = ['a-install', 'a'].map((name) => {
    return name === 'a' ? toolDocument(name, [{ name: 'A', value: 'x' }]) : metricDocument(name)
  })
  const place = { catalog: buildCatalog(documents, '3f2a91c0') }
  const message = 'metric a-install has the name of the init container that metric a adds'
  for (const [inject, metric] of [
    ['a,a-install', 'a-install'],
    ['a-install,a', 'a'],
  ] as const) {
    const { word, left, status } = rideWith(inject, {}, {}, place)
    t.equal(word, 'injected')
    t.strictSame(left, { [metric]: 'name-taken' }, 'of the two metrics, the pod gets the first')
    t.match(status, { left: [{ metric, message }] })
  }
  t.equal(rideWith('a', {}, {}, place).word, 'injected')
})

const SAME = { cpu: '1', memory: '1Gi' }
const GUARANTEED = { limits: SAME, requests: SAME }

t.test('in a Guaranteed pod, the requests of an installer equal its limits', async (t) => {
  const ridden = rideWith('cpu-profile', { containers: [app({ resources: GUARANTEED })] })
  const own = { cpu: '200m', memory: '24Mi' }
  t.strictSame(containerIn(ridden, 'cpu-profile-install').resources, { requests: own, limits: own })
  t.match(containerIn(ridden, 'cpu-profile').resources, { requests: { cpu: '100m' } })
})

t.test('in a pod with pod-level resources, an installer has none of its own', async (t) => {
  const ridden = rideWith('cpu-profile', { resources: { limits: SAME } })
  t.notOk(containerIn(ridden, 'cpu-profile-install').resources)
  t.notOk(containerIn(ridden, 'cpu-profile').resources)
})

t.test('if a pod limits its storage, the observer adds the size of the volume', async (t) => {
  const storage = { limits: { 'ephemeral-storage': '1Gi' } }
  const none = { cpu: '0', memory: '0', 'ephemeral-storage': '0' }
  const limits = { cpu: '100m', memory: '32Mi', 'ephemeral-storage': '256Mi' }
  const specs: [string, Json][] = [
    ['the target', { containers: [app({ resources: storage })] }],
    ['another container', { containers: [app(), { name: 'other', resources: storage }] }],
    ['an init container', { initContainers: [{ name: 'setup', resources: storage }] }],
  ]
  for (const [name, spec] of specs) {
    const ridden = rideWith('cpu-profile,perf-sysstat', spec)
    const of = (container: string) => containerIn(ridden, container).resources
    t.strictSame(of('cpu-profile'), { requests: none, limits }, `${name} has the limit`)
    for (const other of ['perf-sysstat', 'cpu-profile-install'])
      t.notMatch(JSON.stringify(of(other)), 'ephemeral', `${other} writes nothing`)
  }
  const requested = app({ resources: { requests: { 'ephemeral-storage': '1Gi' } } })
  t.notMatch(
    JSON.stringify(
      containerIn(rideWith('cpu-profile', { containers: [requested] }), 'cpu-profile'),
    ),
    'ephemeral',
    'a limit of only the observer would limit the application',
  )
  const both = { requests: { ...SAME }, limits: { ...SAME, 'ephemeral-storage': '1Gi' } }
  const guaranteed = rideWith('cpu-profile', { containers: [app({ resources: both })] })
  t.strictSame(containerIn(guaranteed, 'cpu-profile').resources, {
    requests: { cpu: '100m', memory: '32Mi', 'ephemeral-storage': '0' },
    limits,
  })
  const level = { resources: { limits: SAME }, containers: [app({ resources: storage })] }
  t.strictSame(containerIn(rideWith('cpu-profile', level), 'cpu-profile').resources, {
    requests: { 'ephemeral-storage': '0' },
    limits: { 'ephemeral-storage': '256Mi' },
  })
})

t.test('LimitRanges and quotas apply to the installer', async (t) => {
  const bounded = (item: Json) => ({ rules: { limitRanges: [limitRange(item)] } })
  const small = rideWith('cpu-profile', {}, {}, bounded({ max: { cpu: '150m' } }))
  t.equal(small.word, 'limit-range')
  t.match(small.message, 'cpu-profile-install')
  t.equal(rideWith('cpu-profile', {}, {}, bounded({ max: { cpu: '200m' } })).word, 'injected')
  const resources = { limits: { cpu: '10m', memory: '16Mi' } }
  const spec = { containers: [app({ resources })] }
  const quota = (cpu: string) => ({
    rules: { resourceQuotas: [resourceQuota({ 'limits.cpu': cpu })] },
  })
  // The application and the observer have 110m. The installer, which runs before them, has 200m.
  t.equal(rideWith('cpu-profile', spec, {}, quota('199m')).word, 'quota')
  t.equal(rideWith('cpu-profile', spec, {}, quota('200m')).word, 'injected')
  t.equal(rideWith('perf-sysstat', spec, {}, quota('110m')).word, 'injected')
})

t.test('an enforced Pod Security level applies to the installer too', async (t) => {
  const labels = { ...ALLOWED, 'pod-security.kubernetes.io/enforce': 'restricted' }
  t.equal(rideWith('cpu-profile', {}, {}, { labels }).word, 'pod-security')
  const user = { securityContext: { runAsUser: 1000, runAsGroup: 1000 } }
  const ridden = rideWith('cpu-profile', user, {}, { labels })
  t.equal(ridden.word, 'injected')
  t.match(containerIn(ridden, 'cpu-profile-install').securityContext, {
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'] },
    readOnlyRootFilesystem: true,
    runAsNonRoot: true,
    runAsUser: 1000,
    runAsGroup: 1000,
    seccompProfile: { type: 'RuntimeDefault' },
  })
})

t.test('the installer does not get the security context of its observer', async (t) => {
  const { container } = metricDocument('root-profile').spec
  const privileges = {
    privilege: 'baseline',
    container: { ...container, securityContext: { runAsUser: 0 } },
  }
  const document = toolDocument('root-profile', [{ name: 'A', value: 'x' }], privileges as never)
  const catalog: Catalog = buildCatalog([document], '3f2a91c0')
  const labels = { ...ALLOWED, 'ridealong.dev/privilege': 'baseline' }
  const spec = { securityContext: { runAsUser: 1000, runAsGroup: 1000 } }
  const ridden = rideWith('root-profile', spec, {}, { catalog, labels })
  t.equal(containerIn(ridden, 'root-profile').securityContext?.runAsUser, 0)
  t.equal(containerIn(ridden, 'root-profile-install').securityContext?.runAsUser, 1000)
})

t.test('a node must be known to have the images of the observer and the installer', async (t) => {
  const [observer, installer] = ['registry.example/observer:1', 'registry.example/cpu-profile:1']
  const held = (...heldImages: string[]) => rideWith('cpu-profile', {}, {}, { heldImages })
  t.equal(held(observer, installer).word, 'injected')
  for (const [missing, other] of [
    [observer, installer],
    [installer, observer],
  ] as const) {
    const { word, message } = held(other)
    t.equal(word, 'observer-unavailable')
    t.equal(message, `no node is known to have ${missing}, the image of cpu-profile`)
  }
})

t.test('in mode container, a tool is installed before all other containers', async (t) => {
  const spec = { initContainers: [{ name: 'setup' }] }
  const { pod } = rideWith('cpu-profile', spec, CONTAINER)
  const { initContainers = [], containers } = pod.spec
  t.strictSame(
    initContainers.map(({ name }) => name),
    ['cpu-profile-install', 'setup'],
  )
  t.strictSame(
    containers.map(({ name }) => name),
    ['app', 'cpu-profile'],
  )
  t.match(containers[1]?.volumeMounts?.at(-1), { mountPath: '/ridealong/results' })
})

t.test('a second review of a pod with a tool changes nothing', async (t) => {
  for (const more of [{}, CONTAINER]) {
    const { pod } = rideWith('cpu-profile,perf-sysstat', {}, more)
    const again = rideWith('cpu-profile,perf-sysstat', pod.spec as Json, {
      ...more,
      'ridealong.dev/status': pod.metadata.annotations?.['ridealong.dev/status'] ?? '',
    })
    t.equal(again.word, 'already-injected')
    t.equal(again.isPatched, false)
  }
})

t.test('a second review can add another tool to a pod that has one', async (t) => {
  const first = rideWith('cpu-profile')
  const status = first.pod.metadata.annotations?.['ridealong.dev/status'] ?? ''
  const second = rideWith('cpu-profile,mpi-trace', first.pod.spec as Json, {
    'ridealong.dev/status': status,
  })
  t.equal(second.word, 'injected')
  const values = containerIn(second, 'app').env?.filter(({ name }) => name === 'LD_PRELOAD')
  t.strictSame(
    values?.map(({ value }) => value),
    ['/opt/ridealong/cpu-profile/loader.so', '$(LD_PRELOAD):/opt/ridealong/mpi-trace/loader.so'],
  )
  t.strictSame(second.status?.metrics, ['cpu-profile', 'mpi-trace'])
})

t.test('the status annotation names the variables of tools, and only of tools', async (t) => {
  t.strictSame(rideWith('cpu-profile').status, {
    outcome: 'injected',
    metrics: ['cpu-profile'],
    mode: 'native',
    shareProcessNamespace: 'absent',
    counters: 'all',
    catalog: '3f2a91c0',
    variables: ['LD_PRELOAD', 'CPUPROFILE'],
  })
  t.notOk('variables' in (rideWith('perf-sysstat').status ?? {}))
  t.equal(TOOLS.metrics.get('perf-sysstat')?.tool, undefined)
})

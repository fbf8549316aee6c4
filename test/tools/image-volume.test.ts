import t from 'tap'
import { buildCatalog } from '../../src/core/catalog.ts'
import type { Tool } from '../../src/core/tools/tool.ts'
import { type Json, limitRange, metricDocument, resourceQuota } from '../src/core/build.ts'
import {
  ALLOWED,
  containerIn,
  MOUNTED,
  mountedTool,
  rideWith,
  sharedTool,
} from '../src/core/tools/build.ts'

const SUFFIX = '705ab4f5'
const PLACE = { catalog: MOUNTED }
const NO_TOKEN = { automountServiceAccountToken: false }
const namesIn = (list: readonly { readonly name: string }[] = []) => list.map(({ name }) => name)
const imageOf = (metric: string) => `ridealong-lib-${metric}-${SUFFIX}`
const resultsOf = (metric: string) => `ridealong-tool-${metric}-${SUFFIX}`

t.test('tools are mounted from their images, and have no installer', async (t) => {
  const ridden = rideWith('cpu-profile,perf-sysstat,gpu-trace,mpi-trace', NO_TOKEN, {}, PLACE)
  const { spec } = ridden.pod
  t.equal(ridden.word, 'injected')
  const image = (reference: string) => ({ reference, pullPolicy: 'IfNotPresent' })
  t.strictSame(spec.volumes, [
    { name: imageOf('cpu-profile'), image: image('registry.example/tools:1') },
    { name: resultsOf('cpu-profile'), emptyDir: { sizeLimit: '320Mi' } },
    { name: imageOf('gpu-trace'), image: image('registry.example/gpu:1') },
    { name: resultsOf('gpu-trace'), emptyDir: { sizeLimit: '1Gi' } },
  ])
  t.strictSame(namesIn(spec.initContainers), [
    'cpu-profile',
    'perf-sysstat',
    'gpu-trace',
    'mpi-trace',
  ])
  const mounts = (metric: string, first: string) => [
    {
      name: imageOf(first),
      subPath: `tool/${metric}`,
      mountPath: `/opt/ridealong/${metric}`,
      readOnly: true,
    },
    {
      name: resultsOf(first),
      subPath: `${metric}-results`,
      mountPath: `/var/opt/ridealong/${metric}`,
    },
  ]
  t.strictSame(containerIn(ridden, 'app').volumeMounts, [
    ...mounts('cpu-profile', 'cpu-profile'),
    ...mounts('gpu-trace', 'gpu-trace'),
    ...mounts('mpi-trace', 'cpu-profile'),
  ])
})

t.test('an observer has only the results of its tool, not the image', async (t) => {
  const ridden = rideWith('mpi-trace,cpu-profile', NO_TOKEN, {}, PLACE)
  for (const name of ['mpi-trace', 'cpu-profile']) {
    const mount = { name: resultsOf('mpi-trace'), mountPath: '/ridealong/results' }
    const { env = [] } = containerIn(ridden, name)
    t.match(
      env.find((variable) => variable.name === 'RIDEALONG_TOOL_MOUNTS'),
      { value: `/opt/ridealong/${name}` },
      'it knows where the target has the library',
    )
    t.strictSame(containerIn(ridden, name).volumeMounts, [{ ...mount, subPath: `${name}-results` }])
  }
})

t.test('the variables of the target are those of installed tools', async (t) => {
  const { env } = containerIn(rideWith('mpi-trace,cpu-profile', NO_TOKEN, {}, PLACE), 'app')
  t.strictSame(env, [
    {
      name: 'LD_PRELOAD',
      value: '/opt/ridealong/mpi-trace/loader.so:/opt/ridealong/cpu-profile/loader.so',
    },
  ])
})

/** Returns the names of the volumes of two tools of one image, of which the second is changed. */
function volumesWith(change: (tool: Tool) => Json): readonly string[] {
  const image = 'registry.example/tools:1'
  const second = mountedTool('b', image, '16Mi')
  const documents = [
    metricDocument('a', { tool: mountedTool('a', image, '16Mi') }),
    metricDocument('b', { tool: { ...second, ...change(second) } as Tool }),
  ]
  const place = { catalog: buildCatalog(documents, '3f2a91c0') }
  return namesIn(rideWith('a,b', NO_TOKEN, {}, place).pod.spec.volumes as never)
}

t.test(
  'tools with another image, policy or folder of results have their own volumes',
  async (t) => {
    const image = 'registry.example/tools:1'
    const shared = [imageOf('a'), resultsOf('a')]
    const separate = [...shared, imageOf('b'), resultsOf('b')]
    t.strictSame(
      volumesWith(() => ({})),
      shared,
    )
    t.strictSame(
      volumesWith(() => ({ imageVolume: { image, imagePullPolicy: 'IfNotPresent' } })),
      shared,
    )
    t.strictSame(
      volumesWith(() => ({ imageVolume: { image, imagePullPolicy: 'Always' } })),
      separate,
    )
    t.strictSame(
      volumesWith(() => ({ imageVolume: { image: `${image}0` } })),
      separate,
    )
    t.strictSame(
      volumesWith(({ results }) => ({ results: { ...results, subPath: 'a-results' } })),
      separate,
    )
    t.strictSame(
      volumesWith(({ results }) => ({ results: { ...results, subPath: 'tool' } })),
      shared,
      'a folder of the image is not a folder of the results',
    )
    const installed = { ...sharedTool('b', image, '16Mi'), imageVolume: undefined }
    t.strictSame(
      volumesWith(() => installed),
      [...shared, resultsOf('b')],
    )
  },
)

t.test('the pull policy of the catalog is that of the volume', async (t) => {
  const tool = mountedTool('a', 'registry.example/tools:1', '16Mi')
  const imageVolume = { image: 'registry.example/tools:1', imagePullPolicy: 'Never' } as const
  const document = metricDocument('a', { tool: { ...tool, installer: undefined, imageVolume } })
  const place = { catalog: buildCatalog([document], '3f2a91c0') }
  const [volume] = rideWith('a', NO_TOKEN, {}, place).pod.spec.volumes ?? []
  t.match(volume, { image: { reference: 'registry.example/tools:1', pullPolicy: 'Never' } })
})

t.test('without an installer, its name is free, and its resources do not count', async (t) => {
  const named = { name: 'cpu-profile-install', image: 'x' }
  t.equal(rideWith('cpu-profile', { initContainers: [named] }, {}, PLACE).word, 'injected')
  const limits = { memory: '25Mi' }
  const rules = { limitRanges: [limitRange({ min: limits })] }
  const { pod } = rideWith('cpu-profile', NO_TOKEN, {}, { ...PLACE, rules })
  t.strictSame(namesIn(pod.spec.initContainers), ['cpu-profile'])
  const quota = { resourceQuotas: [resourceQuota({ 'limits.cpu': '100m' })] }
  const app = { resources: { limits: { cpu: '0', memory: '1Mi' } } }
  const spec = { containers: [{ name: 'app', image: 'a', ...app }] }
  t.equal(rideWith('cpu-profile', spec, {}, { ...PLACE, rules: quota }).word, 'injected')
})

t.test('Pod Security restricted allows a pod with image volumes', async (t) => {
  const labels = { ...ALLOWED, 'pod-security.kubernetes.io/enforce': 'restricted' }
  const securityContext = {
    runAsNonRoot: true,
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'] },
    seccompProfile: { type: 'RuntimeDefault' },
  }
  const spec = { containers: [{ name: 'app', image: 'a', securityContext }] }
  t.equal(rideWith('cpu-profile', spec, {}, { ...PLACE, labels }).word, 'injected')
})

t.test('an apiserver without image volumes would refuse the tool, which is left', async (t) => {
  const old = { ...PLACE, apiserverVersion: 34 }
  const message =
    'the tool of mpi-trace is mounted from its image, which needs Kubernetes 1.35;' +
    ' the apiserver has the version 1.34'
  const both = rideWith('perf-sysstat,mpi-trace', {}, {}, old)
  t.strictSame(Object.keys(both.observers), ['perf-sysstat'])
  const left = [{ metric: 'mpi-trace', reason: 'no-image-volumes', message }]
  t.match(both.status, { outcome: 'injected', metrics: ['perf-sysstat'], left })
  t.notMatch(JSON.stringify(both.pod.spec), '"image":{', 'the pod has no image volume')
  const alone = rideWith('mpi-trace', {}, {}, old)
  t.equal(alone.word, 'no-image-volumes')
  t.equal(alone.message, message)
  t.ok(alone.isPatched, 'the status says why')
  t.strictSame(rideWith('perf-sysstat', {}, {}, old).left, {})
  for (const apiserverVersion of [35, 36, undefined])
    t.equal(rideWith('mpi-trace', {}, {}, { ...PLACE, apiserverVersion }).word, 'injected')
})

t.test('each image must be on a node', async (t) => {
  const observer = 'registry.example/observer:1'
  const held = (...heldImages: readonly string[]) =>
    rideWith('mpi-trace', {}, {}, { ...PLACE, heldImages }).word
  t.equal(held(observer), 'observer-unavailable')
  t.equal(held(observer, 'registry.example/tools:1'), 'injected')
})

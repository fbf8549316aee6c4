import t from 'tap'
import { buildCatalog } from '../../../../src/core/catalog.ts'
import type { Tool } from '../../../../src/core/tools/tool.ts'
import { type Json, limitRange, metricDocument, type Ride } from '../build.ts'
import { containerIn, rideWith, SHARED, sharedTool } from './build.ts'

const SUFFIX = '705ab4f5'
const volumeOf = (metric: string) => `ridealong-tool-${metric}-${SUFFIX}`
const PLACE = { catalog: SHARED }
const NO_TOKEN = { automountServiceAccountToken: false }
const namesIn = (list: readonly { readonly name: string }[] = []) => list.map(({ name }) => name)

t.test('tools of one image have one installer and one volume', async (t) => {
  const ridden = rideWith('cpu-profile,perf-sysstat,gpu-trace,mpi-trace', NO_TOKEN, {}, PLACE)
  const { spec } = ridden.pod
  const [shared, own] = [volumeOf('cpu-profile'), volumeOf('gpu-trace')]
  t.strictSame(spec.volumes, [
    { name: shared, emptyDir: { sizeLimit: '320Mi' } },
    { name: own, emptyDir: { sizeLimit: '1Gi' } },
  ])
  t.strictSame(namesIn(spec.initContainers), [
    ...['cpu-profile-install', 'gpu-trace-install'],
    ...['cpu-profile', 'perf-sysstat', 'gpu-trace', 'mpi-trace'],
  ])
  t.match(containerIn(ridden, 'cpu-profile-install'), {
    image: 'registry.example/tools:1',
    volumeMounts: [{ name: shared, mountPath: '/ridealong/volume' }],
  })
  t.strictSame(
    containerIn(ridden, 'app').volumeMounts?.map(({ name, subPath }) => [name, subPath]),
    [
      [shared, 'cpu-profile-tool'],
      [shared, 'cpu-profile-results'],
      [own, 'gpu-trace-tool'],
      [own, 'gpu-trace-results'],
      [shared, 'mpi-trace-tool'],
      [shared, 'mpi-trace-results'],
    ],
  )
})

t.test(
  'each observer of a shared volume has only its results and its part of the size',
  async (t) => {
    const ridden = rideWith('mpi-trace,cpu-profile', NO_TOKEN, {}, PLACE)
    for (const [name, size] of [
      ['mpi-trace', 64],
      ['cpu-profile', 256],
    ] as const) {
      const { env = [], volumeMounts } = containerIn(ridden, name)
      const limit = env.find((variable) => variable.name === 'RIDEALONG_TOOL_SIZE_LIMIT')
      t.equal(limit?.value, String(size * 1024 * 1024))
      const mount = { name: volumeOf('mpi-trace'), mountPath: '/ridealong/results' }
      t.strictSame(volumeMounts, [{ ...mount, subPath: `${name}-results` }])
    }
  },
)

/** Returns the pod of two tools of one image, of which the second is changed. */
function withSecond(change: (tool: Tool) => Json): Ride {
  const toolNamed = (name: string) => sharedTool(name, 'registry.example/tools:1', '16Mi')
  const second = toolNamed('b')
  const documents = [
    metricDocument('a', { tool: toolNamed('a') }),
    metricDocument('b', { tool: { ...second, ...change(second) } }),
  ]
  return rideWith('a,b', NO_TOKEN, {}, { catalog: buildCatalog(documents, '3f2a91c0') })
}

t.test(
  'tools with another image, command or folder of results have their own volume',
  async (t) => {
    const installers = (change: (tool: Tool) => Json) => {
      return namesIn(withSecond(change).pod.spec.initContainers).filter((name) => /-/.test(name))
    }
    const program =
      (fields: Json) =>
      ({ installer }: Tool) => ({ installer: { ...installer, ...fields } })
    t.strictSame(
      installers(() => ({})),
      ['a-install'],
    )
    t.strictSame(installers(program({ imagePullPolicy: 'IfNotPresent', args: [] })), ['a-install'])
    for (const different of [
      program({ image: 'registry.example/tools:2' }),
      program({ command: ['install', 'b'] }),
      program({ args: ['b'] }),
      program({ imagePullPolicy: 'Always' }),
      ({ results }: Tool) => ({ results: { ...results, subPath: 'a-results' } }),
      ({ results }: Tool) => ({ results: { ...results, subPath: 'a-tool' } }),
      ({ mounts }: Tool) => ({
        mounts: mounts.map((mount) => ({ ...mount, subPath: 'a-results' })),
      }),
    ])
      t.strictSame(installers(different), ['a-install', 'b-install'])
    const sameFolder = ({ mounts }: Tool) => {
      return { mounts: mounts.map((mount) => ({ ...mount, subPath: 'a-tool' })) }
    }
    t.strictSame(installers(sameFolder), ['a-install'], 'both may read the same folder')
  },
)

t.test('a shared installer has the greatest limits of its tools', async (t) => {
  const limits = { cpu: '1', memory: '20Mi' }
  const ridden = withSecond(({ installer }) => ({
    installer: { ...installer, resources: { limits } },
  }))
  const { resources } = containerIn(ridden, 'a-install')
  t.match(resources, { limits: { cpu: '1', memory: '24Mi' } })
})

t.test('a shared installer counts once for LimitRanges, which raise its requests', async (t) => {
  const rules = { limitRanges: [limitRange({ min: { memory: '26Mi' } })] }
  const ridden = rideWith('cpu-profile,mpi-trace', {}, {}, { ...PLACE, rules })
  t.equal(ridden.word, 'injected')
  t.match(containerIn(ridden, 'cpu-profile-install').resources, {
    requests: { memory: '26Mi' },
    limits: { memory: '26Mi' },
  })
  t.match(containerIn(ridden, 'mpi-trace').resources, { requests: { memory: '26Mi' } })
})

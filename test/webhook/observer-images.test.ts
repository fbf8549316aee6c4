import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Registry } from 'prom-client'
import t from 'tap'
import { loadCatalog } from '../../src/catalog/load.ts'
import { buildCatalog, type Catalog } from '../../src/core/catalog.ts'
import { INTERVALS } from '../../webhook/cluster/intervals.ts'
import { showImages } from '../../webhook/observer-images.ts'
import { metricDocument } from '../src/core/build.ts'
import { BUILT_IN_ROWS } from '../src/runs/log/built-in.ts'
import { startStandIn } from '../stand-ins/apiserver.ts'
import { until } from '../until.ts'
import {
  ASKING,
  addedNames,
  operationsOf,
  post,
  reviewOf,
  sampleOf,
  startServer,
} from './server.ts'

// The folder of the kubeconfig. Each server has another folder, the folder of its test.
const folder = t.testdir({})

const A = 'registry.example/observer:a'
const B = 'registry.example/observer:b'

const LIMITS = { resources: { limits: { cpu: '200m', memory: '24Mi' } } }
const TOOL = {
  sizeLimit: '256Mi',
  mounts: [{ subPath: 'tool', mountPath: '/opt/tool' }],
  results: { subPath: 'results', mountPath: '/var/tool' },
  variables: [{ name: 'A', value: 'b' }],
}

function catalogWith(images: Readonly<Record<string, string>>): Catalog {
  const documents = Object.entries(images).map(([name, image]) => {
    const { spec } = metricDocument(name)
    return metricDocument(name, { container: { ...spec.container, image } })
  })
  return buildCatalog(documents, '3f2a91c0')
}

/**
 * Shows the images of a catalog in a gauge for Prometheus and in a check. The caller can change
 * `held`, the images on the nodes, and `offered`, the catalog.
 */
function show(imagesMs: number, images: readonly string[] | undefined) {
  const registry = new Registry()
  const held = new Set(images)
  const offered = { catalog: catalogWith({ cpu: A, disk: A, gpu: B }) }
  const checks = showImages({
    registry,
    catalog: () => offered.catalog,
    heldImages: images && (() => held),
    pace: { ...INTERVALS, imagesMs },
  })
  const available = async (metric: string) => {
    return sampleOf(await registry.metrics(), 'ridealong_observer_image_available', { metric })
  }
  return { held, offered, checks, available }
}

/** The images of the built-in tools, with their metrics. */
const WITH_TOOL = [...(await loadCatalog({})).metrics.values()].flatMap(({ name, tool }) =>
  tool === undefined ? [] : name,
)
const TOOLS = `ghcr.io/ridealong/tools:0.1.0 (${WITH_TOOL.join(', ')})`

t.test('the gauge and the check show whether a node holds the image of each metric', async (t) => {
  const { held, offered, checks, available } = show(0, [A])
  t.strictSame(await Promise.all(['cpu', 'disk', 'gpu'].map(available)), [1, 1, 0])
  t.strictSame(checks(), [
    { name: 'images', problem: `no node is known to hold ${B} (gpu)`, fatal: false },
  ])
  held.clear()
  t.strictSame(await Promise.all(['cpu', 'disk', 'gpu'].map(available)), [0, 0, 0])
  const all = `no node is known to hold ${A} (cpu, disk), ${B} (gpu)`
  t.strictSame(checks(), [{ name: 'images', problem: all, fatal: false }])
  held.add(A).add(B)
  t.strictSame(await Promise.all(['cpu', 'disk', 'gpu'].map(available)), [1, 1, 1])
  t.strictSame(checks(), [{ name: 'images', problem: undefined, fatal: false }])
  offered.catalog = catalogWith({ net: B })
  t.equal(await available('net'), 1)
  t.equal(await available('cpu'), undefined, 'a removed metric is not shown')
})

t.test('a metric with a tool is available if nodes hold both of its images', async (t) => {
  const { held, offered, checks, available } = show(0, [A])
  const document = metricDocument('cpu-profile', {
    tool: { ...TOOL, installer: { image: B, ...LIMITS } },
  })
  const { spec } = document
  const container = { ...spec.container, image: A }
  offered.catalog = buildCatalog([{ ...document, spec: { ...spec, container } }], '3f2a91c0')
  t.equal(await available('cpu-profile'), 0)
  t.match(checks(), [{ problem: `no node is known to hold ${B} (cpu-profile)` }])
  held.add(B).delete(A)
  t.equal(await available('cpu-profile'), 0)
  t.match(checks(), [{ problem: `no node is known to hold ${A} (cpu-profile)` }])
  held.add(A)
  t.equal(await available('cpu-profile'), 1)
  t.match(checks(), [{ problem: undefined }])
})

t.test('a new server is not ready until the images are available or a timeout ends', async (t) => {
  const { held, checks } = show(60_000, [A])
  t.match(checks(), [{ fatal: true, problem: B }])
  held.add(B)
  t.match(checks(), [{ problem: undefined }])
  const impatient = show(50, [A])
  await until('the timeout has ended', () => impatient.checks()[0]?.fatal === false)
})

t.test('without image holders, no gauge and no check is shown', async (t) => {
  const { checks, available } = show(60_000, undefined)
  t.strictSame(checks(), [])
  t.equal(await available('cpu'), undefined)
})

function writeKubeconfig(ca: string, port: number): void {
  const authority = Buffer.from(ca).toString('base64')
  const cluster = { server: `https://127.0.0.1:${port}`, 'certificate-authority-data': authority }
  writeFileSync(
    join(folder, 'config'),
    JSON.stringify({
      clusters: [{ name: 'c', cluster }],
      users: [{ name: 'u', user: { token: 'a-token' } }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    }),
  )
}

t.test('pods get no observers until a node holds the image', async (t) => {
  const { standIn, ca, port } = await startStandIn(t)
  writeKubeconfig(ca, port)
  const metadata = {
    name: 'images-1',
    namespace: 'holders',
    labels: { 'ridealong.dev/image': '1' },
  }
  const spec = { template: { spec: { containers: [{ image: A }] } } }
  const counted = { currentNumberScheduled: 1, updatedNumberScheduled: 1 }
  standIn.put('daemonsets', { metadata, spec, status: { ...counted, numberReady: 0 } })
  const running = await startServer(t, {
    kubeconfig: join(folder, 'config'),
    imageHolders: 'holders',
    observerImage: A,
    pace: { ...INTERVALS, imagesMs: 100 },
  })
  const ready = async () => (await running.status('/readyz')).status === 200
  await until('the server is ready without the image', ready)
  const { checks } = JSON.parse((await running.status('/readyz')).body)
  t.equal(
    checks.images,
    `no node is known to hold ${A} (${[...BUILT_IN_ROWS.keys()].join(', ')}), ${TOOLS}`,
  )
  const left = operationsOf(await post(running, '/mutate/pods', reviewOf(ASKING)))
  t.match(JSON.stringify(left), /observer-unavailable/)
  standIn.put('daemonsets', { metadata, spec, status: { ...counted, numberReady: 1 } })
  await until('an observer is injected', async () => {
    const answer = await post(running, '/mutate/pods', reviewOf(ASKING))
    return addedNames(answer).includes('perf-sysstat')
  })
  const name = 'ridealong_observer_image_available'
  t.equal(sampleOf(await running.metrics(), name, { metric: 'perf-sysstat' }), 1)
  const after = JSON.parse((await running.status('/readyz')).body).checks.images
  t.equal(after, `no node is known to hold ${TOOLS}`, 'only metrics with a tool need other images')
})

import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { sampleOf } from '../../webhook/server.ts'
import type { Cluster } from '../machine/cluster.ts'
import { DEBIAN_IMAGE, forgetOnNode, IMAGES, nameOnNode } from '../machine/images.ts'
import { kubectl } from '../machine/kubectl.ts'
import { run } from '../machine/tools.ts'
import { renderTemplate } from '../release/chart.ts'
import { createNamespace, runningCluster } from '../running.ts'
import { until } from '../until.ts'
import { startWebhook, type Webhook } from '../webhook.ts'

// Tests with an image of the observers that cannot be pulled. Applications run without observers,
// and users see the reason. As soon as a node has the image, new pods are observed.

/** A host name that never resolves (RFC 6761). */
const REGISTRY = 'registry.invalid'
const IMAGE = `${REGISTRY}/ridealong/observer:absent`
const HOLDERS = 'holder-release'
const APPLICATIONS = 'holder-applications'

const ASKS = { 'ridealong.dev/inject': 'perf-sysstat', 'perf-sysstat.ridealong.dev/rate': '1' }
const CONTAINER = { ...ASKS, 'ridealong.dev/mode': 'container' }
const DENY = { ...ASKS, 'ridealong.dev/on-error': 'deny' }

function podSpec(seconds: number) {
  const command = ['sleep', `${seconds}`]
  return { restartPolicy: 'Never', containers: [{ name: 'app', image: DEBIAN_IMAGE, command }] }
}

function job(name: string, annotations: object) {
  const template = { metadata: { annotations }, spec: podSpec(3) }
  const spec = { completions: 2, parallelism: 2, backoffLimit: 0, template }
  return { apiVersion: 'batch/v1', kind: 'Job', metadata: { name }, spec }
}

function apply(cluster: Cluster, namespace: string, ...items: readonly object[]): Promise<string> {
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
  return kubectl(cluster, ['apply', '-n', namespace, '-f', '-'], list)
}

/** Returns the pods of a Job after it has completed. */
// biome-ignore lint/suspicious/noExplicitAny: Pods as the apiserver serves them.
async function podsOfCompleted(cluster: Cluster, name: string): Promise<any[]> {
  const where = ['-n', APPLICATIONS]
  await kubectl(cluster, [
    ...['wait', '--for=condition=Complete', `job/${name}`, '--timeout=300s', ...where],
  ])
  const words = ['get', 'pods', '-o', 'json', '-l', `job-name=${name}`, ...where]
  return JSON.parse(await kubectl(cluster, words)).items
}

async function available(webhook: Webhook): Promise<number | undefined> {
  const labels = { metric: 'perf-sysstat' }
  return sampleOf(await webhook.metrics(), 'ridealong_observer_image_available', labels)
}

/** Returns the line of `ridealong doctor` about the images. */
async function diagnosis(cluster: Cluster, { statusPort }: Webhook): Promise<string> {
  const main = fileURLToPath(new URL('../../../cli/main.ts', import.meta.url))
  const where = ['--kubeconfig', cluster.kubeconfig]
  const words = ['doctor', ...where, '--status-url', `http://127.0.0.1:${statusPort}`]
  // The doctor exits with 1 if it finds a problem. Its output is complete in both cases.
  const shell = ['-c', '"$@" || true', 'doctor', process.execPath, main, ...words]
  const lines = (await run('sh', shell)).split('\n')
  return lines.find((line) => line.includes("the webhook's images")) ?? ''
}

t.test('pods run without observers until a node has the image of the observers', async (t) => {
  const setting = await startWithoutImage(t)

  await t.test('applications complete, and the status of their pods names the reason', (t) =>
    applicationsComplete(t, setting),
  )

  await t.test('a pod with on-error: deny is denied', (t) => deniesStrictPod(t, setting))

  await t.test('the Prometheus metric, the doctor and Events report the missing image', (t) =>
    reportsMissingImage(t, setting),
  )

  await t.test('when a node has the image, pods are observed', (t) => observesWithImage(t, setting))
})

async function startWithoutImage(t: Test) {
  const { cluster, api } = await runningCluster(t)
  await createNamespace(t, api, HOLDERS)
  await createNamespace(t, api, APPLICATIONS)
  const values = [`observer.image.registry=${REGISTRY}`, 'observer.image.tag=absent']
  const set = values.flatMap((value) => ['--set', value])
  await apply(cluster, HOLDERS, ...(await renderTemplate('image-holder', set, HOLDERS)))
  const rendered = await renderTemplate('scan', ['--set', 'fullnameOverride=holder'], HOLDERS)
  await apply(cluster, HOLDERS, ...rendered.filter(({ kind }) => kind === 'Lease'))
  const [catalog] = await renderTemplate('catalog', set, HOLDERS)
  const folder = t.testdir(catalog?.data as Record<string, string>)
  const scan = ['--scan-lease', `${HOLDERS}/holder-scan`, '--scan-interval', '1']
  const webhook = await startWebhook(cluster, {
    name: 'holder',
    namespace: APPLICATIONS,
    words: ['--image-holders', HOLDERS, '--catalog', folder, '--no-built-in-metrics', ...scan],
  })
  t.teardown(() => webhook.remove())
  return { cluster, api, webhook }
}

type Setting = Awaited<ReturnType<typeof startWithoutImage>>

async function applicationsComplete(t: Test, { cluster }: Setting): Promise<void> {
  await apply(cluster, APPLICATIONS, job('native', ASKS), job('container', CONTAINER))
  for (const name of ['native', 'container']) {
    for (const { metadata, spec } of await podsOfCompleted(cluster, name)) {
      t.match(JSON.parse(metadata.annotations['ridealong.dev/status']), {
        outcome: 'left',
        reason: 'observer-unavailable',
        message: `no node is known to have ${IMAGE}, the image of perf-sysstat`,
      })
      t.equal(spec.containers.length, 1, `pods of the Job ${name} have only the application`)
      t.equal(spec.initContainers, undefined)
      t.equal(spec.shareProcessNamespace, undefined)
    }
  }
}

async function deniesStrictPod(t: Test, { api }: Setting): Promise<void> {
  const { status, body } = await api.post(`/api/v1/namespaces/${APPLICATIONS}/pods`, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'strict', annotations: DENY },
    spec: podSpec(3),
  })
  t.equal(status, 403)
  t.match(body.message, /no node is known to have registry\.invalid/)
}

async function reportsMissingImage(t: Test, { webhook, cluster, api }: Setting): Promise<void> {
  t.equal(await available(webhook), 0)
  for (const name of ['native', 'container']) {
    await until(`the Job ${name} has an Event about the image`, async () => {
      const described = await kubectl(cluster, ['describe', `job/${name}`, '-n', APPLICATIONS])
      const [line] = described.split('\n').filter((each) => each.includes('ObserverUnavailable'))
      return line?.includes('because no node was known to have an image') === true
    })
  }
  const reason = 'observer-unavailable'
  // A scan that saw only some of the pods may already have written Events for both Jobs.
  await until('two pods of each Job are counted', async () => {
    return sampleOf(await webhook.metrics(), 'ridealong_unobserved_pods', { reason }) === 4
  })
  const said = await diagnosis(cluster, webhook)
  t.match(said, /^no +the webhook's images /)
  t.match(said, `no node is known to hold ${IMAGE} (gpu, io-sysstat, nccl-ras, network, `)
  await until('the kubelet has written an Event about the image', async () => {
    const { body } = await api.get(`/api/v1/namespaces/${HOLDERS}/events`)
    return body.items.some(({ reason, message }: { reason: string; message: string }) => {
      return reason === 'Failed' && message.includes(IMAGE)
    })
  })
}

async function observesWithImage(t: Test, { cluster, webhook }: Setting): Promise<void> {
  await nameOnNode(cluster, IMAGES.observer, IMAGE)
  t.teardown(() => forgetOnNode(cluster, IMAGE))
  await until(
    'the Prometheus metric shows that the image is available',
    async () => (await available(webhook)) === 1,
  )
  t.match(await diagnosis(cluster, webhook), /^ok /)
  await apply(cluster, APPLICATIONS, job('observed', ASKS))
  for (const { metadata, spec, status } of await podsOfCompleted(cluster, 'observed')) {
    t.match(JSON.parse(metadata.annotations['ridealong.dev/status']), { outcome: 'injected' })
    t.match(spec.initContainers, [{ name: 'perf-sysstat', image: IMAGE }])
    t.equal(status.initContainerStatuses[0].state.terminated.exitCode, 0)
  }
}

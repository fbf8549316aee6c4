import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { loadCatalog } from '../../../src/catalog/load.ts'
import { readReview } from '../../../src/core/review.ts'
import { readNamespaceFile } from '../../../src/namespaces/namespace-file.ts'
import { redactReview } from '../../../src/pods/recording/redact.ts'
import { run } from '../../cli/command.ts'
import type { Api } from '../api.ts'
import type { Cluster } from '../machine/cluster.ts'
import { kubectl } from '../machine/kubectl.ts'
import { type RunningRecorder, startRecorder } from '../recorder.ts'
import { createNamespace, runningCluster } from '../running.ts'
import { until } from '../until.ts'

// Records the reviews that a real apiserver sends for pods of real controllers, and answers the
// recordings. No object may remain in the cluster, however the recording ends.

const CONFIGURATIONS = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations'
const SECRET = 'hush-1234'

function template(annotations: object) {
  const env = [{ name: 'TOKEN', value: SECRET }]
  const container = { name: 'app', image: 'busybox:1.36', command: ['sh', '-c', SECRET], env }
  // No node has this label: the pods are created and stay pending.
  const spec = {
    containers: [container],
    nodeSelector: { nowhere: 'true' },
    restartPolicy: 'Never',
  }
  return { metadata: { labels: { app: 'recorded' }, annotations }, spec }
}

const ASKS = { 'ridealong.dev/inject': 'io-sysstat', 'notes.example/password': SECRET }

const JOB = {
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'asking' },
  spec: { completions: 2, parallelism: 2, completionMode: 'Indexed', template: template(ASKS) },
}

const DEPLOYMENT = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: {
    selector: { matchLabels: { app: 'recorded' } },
    template: { ...template({}), spec: { ...template({}).spec, restartPolicy: 'Always' } },
  },
}

const POD = { apiVersion: 'v1', kind: 'Pod', ...template(ASKS) }
const named = (name: string) => ({ ...POD, metadata: { ...POD.metadata, name } })

/** Creates a namespace for the test, and returns it with the path of the folder of its recorder. */
async function prepare(t: Test, name: string, metadata = {}) {
  const { cluster, api } = await runningCluster(t)
  await createNamespace(t, api, name, metadata)
  return { cluster, api, namespace: name, folder: join(t.testdir(), 'cases') }
}

async function isConfigured(api: Api, name: string): Promise<boolean> {
  return (await api.get(`${CONFIGURATIONS}/${name}`)).status === 200
}

function start(
  t: Test,
  { cluster, namespace, folder }: { cluster: Cluster; namespace: string; folder: string },
  ...words: readonly string[]
): Promise<RunningRecorder> {
  const own = ['--namespace', namespace, '--name', namespace, ...words]
  return startRecorder(cluster, folder, own).then((recorder) => {
    t.teardown(async () => {
      recorder.child.kill('SIGTERM')
      await recorder.ended
    })
    return recorder
  })
}

function apply(cluster: Cluster, namespace: string, object: unknown): Promise<string> {
  return kubectl(cluster, ['apply', '-n', namespace, '-f', '-'], JSON.stringify(object))
}

t.test('pods of real controllers are recorded, redacted, and answered', async (t) => {
  const annotations = { 'ridealong.dev/inject': 'perf-sysstat' }
  const place = await prepare(t, 'record-controllers', { annotations })
  const { cluster, api, namespace, folder } = place
  const path = `/api/v1/namespaces/${namespace}`
  const limits = [{ type: 'Container', default: { memory: '1Gi' } }]
  const limitRange = { metadata: { name: 'defaults' }, spec: { limits } }
  t.equal((await api.post(`${path}/limitranges`, limitRange)).status, 201)
  const recorder = await start(t, place, '--count', '4', '--timeout', '600')
  await recorder.ready
  t.ok(await isConfigured(api, namespace), 'the webhook configuration exists')
  for (const object of [JOB, DEPLOYMENT]) await apply(cluster, namespace, object)
  const dryRun = await api.post(`${path}/pods?dryRun=All`, named('tried'))
  t.equal(dryRun.status, 201)
  t.equal(await recorder.ended, 0, recorder.text())
  t.notOk(await isConfigured(api, namespace), 'the webhook configuration is deleted')

  const cases = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  const names = cases.map(({ name }) => name.replace(/web-[a-z0-9]+$/, 'web')).sort()
  t.strictSame(names, ['job-asking-0', 'job-asking-1', 'pod-tried', 'replicaset-web'])
  for (const { name } of cases) {
    const text = readFileSync(join(folder, name, 'review.json'), 'utf8')
    t.notMatch(text, SECRET, `${name} does not contain the secret`)
    const body = JSON.parse(text)
    t.match(readReview(body), { operation: 'CREATE', namespace, dryRun: name === 'pod-tried' })
    t.strictSame(redactReview(body, await loadCatalog({})), body, 'nothing is left to redact')
    const status = body.request.object.metadata.annotations?.['ridealong.dev/status']
    t.equal(status, undefined, 'the recorded pod has no status annotation')
  }
  const known = (await readNamespaceFile(join(folder, 'namespaces.yaml'))).find(namespace)
  t.equal(known.annotations.get('ridealong.dev/inject'), 'perf-sysstat')
  t.equal(known.limitRanges.length, 1, 'the LimitRange is recorded')

  t.equal((await run(['test', folder, '--update'])).code, 0)
  const tested = await run(['test', folder])
  t.equal(tested.code, 0, tested.out)
  const answerOf = (name: string) =>
    JSON.parse(readFileSync(join(folder, name, 'answer.json'), 'utf8'))
  const web = cases.find(({ name }) => name.startsWith('replicaset'))?.name ?? ''
  for (const name of ['job-asking-0', web])
    t.equal(answerOf(name).outcome, 'injected', `the pod of ${name} is injected`)
})

t.test('a recorded quota does not count the recorded pod', async (t) => {
  const place = await prepare(t, 'record-quota')
  const { api, namespace, folder } = place
  const quotas = `/api/v1/namespaces/${namespace}/resourcequotas`
  const quota = { metadata: { name: 'pods' }, spec: { hard: { pods: '100' } } }
  t.equal((await api.post(quotas, quota)).status, 201)
  const used = async () => (await api.get(`${quotas}/pods`)).body.status?.used?.pods
  let pods = 0
  const record = async () => {
    await until(`${pods} pods are counted`, async () => (await used()) === `${pods}`)
    const recording = join(folder, `${pods}`)
    const words = ['--count', '1', '--timeout', '600']
    const recorder = await start(t, { ...place, folder: recording }, ...words)
    await recorder.ready
    const created = await api.post(`/api/v1/namespaces/${namespace}/pods`, named(`pod-${pods}`))
    t.equal(created.status, 201)
    t.equal(await recorder.ended, 0, recorder.text())
    const text = readFileSync(join(recording, 'namespaces.yaml'), 'utf8')
    const [, written] = /used:\n\s+pods: "(\d+)"/.exec(text) ?? []
    pods += 1
    return Number(written) === pods - 1
  }
  // The recorder delays a pod by at most 200 ms to read its namespace. On a busy machine, it may
  // read the namespace too late.
  await until('a recorded quota does not count its pod', record)
})

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  t.test(`a recorder that receives ${signal} removes its configuration`, async (t) => {
    const place = await prepare(t, `record-${signal.toLowerCase()}`)
    const { api, namespace, folder } = place
    const recorder = await start(t, place, '--selector', 'app=recorded')
    await recorder.ready
    const pods = `/api/v1/namespaces/${namespace}/pods`
    const other = { ...named('other'), metadata: { name: 'other', labels: { app: 'other' } } }
    t.equal((await api.post(pods, other)).status, 201)
    t.equal((await api.post(pods, named('chosen'))).status, 201)
    await until('the pod is recorded', async () => recorder.text().includes('pod-chosen:'))
    // The recorder gets a signal every 5 ms. The second signal would end a program that does not
    // wait for its cleanup. Node.js does not handle signals while it exits, so a signal may also
    // end the recorder. Therefore the exit code is not checked.
    const hand = setInterval(() => recorder.child.kill(signal), 5)
    t.teardown(() => clearInterval(hand))
    await recorder.ended
    clearInterval(hand)
    t.match(recorder.text(), /^recorded 1 pod/m)
    t.notOk(await isConfigured(api, namespace))
    t.strictSame(readdirSync(folder).sort(), ['namespaces.yaml', 'pod-chosen'])
  })
}

t.test('a recorder whose output pipe is closed removes its configuration', async (t) => {
  const place = await prepare(t, 'record-reader')
  const { api, namespace } = place
  const recorder = await start(t, place)
  await recorder.ready
  recorder.child.stdout?.destroy()
  await api.post(`/api/v1/namespaces/${namespace}/pods`, named('unseen'))
  await recorder.ended
  t.notOk(await isConfigured(api, namespace))
})

t.test('a recording that receives no pod before its timeout exits with 1', async (t) => {
  const place = await prepare(t, 'record-nothing')
  const recorder = await start(t, place, '--timeout', '5')
  t.equal(await recorder.ended, 1, recorder.text())
  t.notOk(await isConfigured(place.api, place.namespace))
})

t.test('a recorder that cannot write to its folder removes its configuration', async (t) => {
  const place = await prepare(t, 'record-unwritable')
  const recorder = await start(t, place)
  await recorder.ready
  // The folder is replaced by a file.
  rmSync(place.folder, { recursive: true })
  writeFileSync(place.folder, '')
  await place.api.post(`/api/v1/namespaces/${place.namespace}/pods`, named('lost'))
  t.equal(await recorder.ended, 2)
  t.match(recorder.text(), /ridealong: ENOTDIR/)
  t.notOk(await isConfigured(place.api, place.namespace))
})

t.test(
  'a second recorder of the same name is refused, and with --force replaces the first',
  async (t) => {
    const place = await prepare(t, 'record-twice')
    const { api, namespace } = place
    const first = await start(t, place)
    await first.ready
    const refused = await start(t, place)
    t.equal(await refused.ended, 2)
    t.match(refused.text(), /record-twice already exists.*--force replaces it/)
    t.ok(await isConfigured(api, namespace), 'the first recorder continues')
    const second = await start(t, place, '--force')
    await second.ready
    await api.post(`/api/v1/namespaces/${namespace}/pods`, named('late'))
    await until('the second recorder records the pod', async () =>
      second.text().includes('pod-late:'),
    )
    first.child.kill('SIGINT')
    t.equal(await first.ended, 1)
    t.ok(await isConfigured(api, namespace), 'the configuration of the second recorder remains')
    second.child.kill('SIGINT')
    t.equal(await second.ended, 0, second.text())
    t.notOk(await isConfigured(api, namespace))
  },
)

t.test('a recorder reports an address that the apiserver cannot reach', async (t) => {
  const place = await prepare(t, 'record-unreached')
  const recorder = await start(t, place, '--port', '1')
  t.equal(await recorder.ended, 2)
  t.match(recorder.text(), /the apiserver cannot reach https:.*connection refused/)
  t.notOk(await isConfigured(place.api, place.namespace))
})

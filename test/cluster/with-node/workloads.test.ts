import t, { type Test } from 'tap'
import type { Cluster } from '../machine/cluster.ts'
import { DEBIAN_IMAGE, IMAGES } from '../machine/images.ts'
import { kubectl } from '../machine/kubectl.ts'
import { createNamespace, runningCluster } from '../running.ts'
import { until } from '../until.ts'
import { startWebhook } from '../webhook.ts'

// Real controllers create the pods of this test, and a real kubelet runs the pods. Annotated pods
// are observed, and Jobs complete.

const ASKS = { 'ridealong.dev/inject': 'perf-sysstat', 'perf-sysstat.ridealong.dev/rate': '1' }
const LABELS = { app: 'busy' }

/** Shell commands: the first computes for six seconds, the second never ends. */
const BUSY = 'end=$(($(date +%s) + 6)); while [ $(date +%s) -lt $end ]; do :; done'
const ENDLESS = 'trap exit TERM; while :; do sleep 0.1; done'

function template(command: string, annotations: object, others: object = {}) {
  const shell = ['sh', '-c', command]
  const container = { name: 'app', image: DEBIAN_IMAGE, command: shell }
  return {
    metadata: { labels: LABELS, annotations },
    spec: { containers: [container], terminationGracePeriodSeconds: 5, ...others },
  }
}

const ENDS = { restartPolicy: 'Never' }
const indexed = { completions: 2, parallelism: 2, completionMode: 'Indexed' }

function job(name: string, annotations: object) {
  const spec = { ...indexed, backoffLimit: 0, template: template(BUSY, annotations, ENDS) }
  return { apiVersion: 'batch/v1', kind: 'Job', metadata: { name }, spec }
}

function lasting(kind: 'Deployment' | 'StatefulSet', name: string) {
  const spec = { selector: { matchLabels: LABELS }, template: template(ENDLESS, ASKS) }
  const service = kind === 'StatefulSet' ? { serviceName: name } : {}
  return { apiVersion: 'apps/v1', kind, metadata: { name }, spec: { ...spec, ...service } }
}

const CRON_JOB = {
  apiVersion: 'batch/v1',
  kind: 'CronJob',
  metadata: { name: 'cron' },
  spec: {
    schedule: '* * * * *',
    jobTemplate: { spec: { template: template('sleep 6', ASKS, ENDS) } },
  },
}

const POD = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'bare', annotations: ASKS },
  spec: template(BUSY, {}, ENDS).spec,
}

// biome-ignore lint/suspicious/noExplicitAny: a Pod as the apiserver serves it.
type Pod = any

async function podsOf(cluster: Cluster, namespace: string, selector: string): Promise<Pod[]> {
  const words = ['get', 'pods', '-n', namespace, '-o', 'json', '-l', selector]
  return JSON.parse(await kubectl(cluster, words)).items
}

function apply(cluster: Cluster, namespace: string, object: unknown): Promise<string> {
  return kubectl(cluster, ['apply', '-n', namespace, '-f', '-'], JSON.stringify(object))
}

function log(cluster: Cluster, pod: Pod, container: string): Promise<string> {
  const { name, namespace } = pod.metadata
  return kubectl(cluster, ['logs', '-n', namespace, name, '-c', container])
}

/** Checks that a pod is injected, and that its observer has written samples. */
async function holdsForPod(t: Test, cluster: Cluster, pod: Pod): Promise<void> {
  const { metadata, spec } = pod
  t.equal(spec.shareProcessNamespace, true, 'the containers share one process namespace')
  t.match(JSON.parse(metadata.annotations['ridealong.dev/status']), { outcome: 'injected' })
  const observer = spec.initContainers?.at(-1)
  t.match(observer, { name: 'perf-sysstat', restartPolicy: 'Always' })
  const mounted = observer.volumeMounts?.map(({ mountPath }: Pod) => mountPath) ?? []
  t.ok(
    mounted.includes('/var/run/secrets/kubernetes.io/serviceaccount'),
    'the observer mounts another volume in place of the service account token',
  )
  const text = await log(cluster, pod, 'perf-sysstat')
  t.match(text, /METADATA START .*perf-sysstat/, 'the log begins with metadata')
  t.match(text, /METRICS OPERATOR TIMEPOINT/, 'the log contains samples')
}

function waitFor(cluster: Cluster, condition: string, what: string, namespace: string) {
  return kubectl(cluster, [
    ...['wait', `--for=${condition}`, what, '-n', namespace, '--timeout=300s'],
  ])
}

t.test('pods of real controllers are observed, and their workloads complete', async (t) => {
  const setting = await createWorkloads(t)

  for (const [name, namespace] of [
    ['asking', 'quiet'],
    ['in-namespace', 'annotated'],
  ] as const) {
    await t.test(`the pods of the Indexed Job ${name} are observed`, (t) =>
      observesIndexedJob(t, setting, name, namespace),
    )
  }

  await t.test('a Job with an observer as an ordinary container completes', (t) =>
    completesWithContainer(t, setting),
  )

  await t.test('the pod of a Deployment is observed', (t) => observesDeployment(t, setting))

  await t.test('the pod of a StatefulSet is observed', (t) => observesStatefulSet(t, setting))

  await t.test('a bare pod is observed', (t) => observesBarePod(t, setting))

  await t.test('the pod of a CronJob is observed', (t) => observesCronJob(t, setting))
})

async function createWorkloads(t: Test) {
  const { cluster, api } = await runningCluster(t)
  await createNamespace(t, api, 'quiet')
  const webhook = await startWebhook(cluster, { words: ['--observer-image', IMAGES.observer] })
  t.teardown(() => webhook.remove())
  await createNamespace(t, api, 'annotated', { annotations: ASKS })
  await apply(cluster, 'quiet', CRON_JOB)
  await apply(cluster, 'quiet', job('asking', ASKS))
  await apply(cluster, 'annotated', job('in-namespace', {}))
  await apply(cluster, 'quiet', job('container', { ...ASKS, 'ridealong.dev/mode': 'container' }))
  await apply(cluster, 'quiet', lasting('Deployment', 'deployment'))
  await apply(cluster, 'annotated', lasting('StatefulSet', 'stateful'))
  await apply(cluster, 'quiet', POD)
  return { cluster }
}

type Setting = Awaited<ReturnType<typeof createWorkloads>>

async function observesIndexedJob(
  t: Test,
  { cluster }: Setting,
  name: 'asking' | 'in-namespace',
  namespace: 'quiet' | 'annotated',
): Promise<void> {
  await waitFor(cluster, 'condition=Complete', `job/${name}`, namespace)
  const pods = await podsOf(cluster, namespace, `job-name=${name}`)
  t.equal(pods.length, 2)
  for (const pod of pods) {
    await holdsForPod(t, cluster, pod)
    const [status] = pod.status.initContainerStatuses
    t.equal(status.restartCount, 0, 'the observer was never restarted')
    t.equal(status.state.terminated.exitCode, 0, 'the observer exited with 0')
  }
}

async function completesWithContainer(t: Test, { cluster }: Setting): Promise<void> {
  await waitFor(cluster, 'condition=Complete', 'job/container', 'quiet')
  for (const pod of await podsOf(cluster, 'quiet', 'job-name=container')) {
    t.equal(pod.spec.containers.at(-1).name, 'perf-sysstat')
    t.match(await log(cluster, pod, 'perf-sysstat'), /METRICS OPERATOR COLLECTION END/)
  }
}

async function observesDeployment(t: Test, { cluster }: Setting): Promise<void> {
  await waitFor(cluster, 'condition=Available', 'deployment/deployment', 'quiet')
  const [pod] = await podsOf(cluster, 'quiet', 'app=busy,pod-template-hash')
  await sampled(cluster, pod)
  await holdsForPod(t, cluster, pod)
}

async function observesStatefulSet(t: Test, { cluster }: Setting): Promise<void> {
  await waitFor(cluster, 'jsonpath={.status.readyReplicas}=1', 'statefulset/stateful', 'annotated')
  const [pod] = await podsOf(cluster, 'annotated', 'statefulset.kubernetes.io/pod-name')
  await sampled(cluster, pod)
  await holdsForPod(t, cluster, pod)
}

async function observesBarePod(t: Test, { cluster }: Setting): Promise<void> {
  await waitFor(cluster, 'jsonpath={.status.phase}=Succeeded', 'pod/bare', 'quiet')
  await holdsForPod(t, cluster, JSON.parse(await kubectl(cluster, GET_BARE)))
}

async function observesCronJob(t: Test, { cluster }: Setting): Promise<void> {
  const created = async () =>
    (await podsOf(cluster, 'quiet', 'batch.kubernetes.io/job-name')).find(({ metadata }) =>
      metadata.name.startsWith('cron-'),
    )
  await until('the CronJob has created its pod', async () => (await created()) !== undefined)
  const pod = await created()
  const path = `pod/${pod.metadata.name}`
  await waitFor(cluster, 'jsonpath={.status.phase}=Succeeded', path, 'quiet')
  await holdsForPod(t, cluster, pod)
}

const GET_BARE = ['get', 'pod', 'bare', '-n', 'quiet', '-o', 'json']

function sampled(cluster: Cluster, pod: Pod): Promise<void> {
  return until('the observer has sampled', async () => {
    const text = await log(cluster, pod, 'perf-sysstat').catch(() => '')
    return text.includes('METRICS OPERATOR TIMEPOINT')
  })
}

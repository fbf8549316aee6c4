import t, { type Test } from 'tap'
import { makeAuthority } from '../../../certs/make.ts'
import { run } from '../../cli/command.ts'
import type { Cluster } from '../machine/cluster.ts'
import { DEBIAN_IMAGE, IMAGES } from '../machine/images.ts'
import { kubectl } from '../machine/kubectl.ts'
import { createNamespace, runningCluster } from '../running.ts'
import { until } from '../until.ts'
import { CONFIGURATIONS, startWebhook } from '../webhook.ts'

// Tests of `explain` on a real cluster: without a webhook, with a webhook, and with faults.

const ASKS = { 'ridealong.dev/inject': 'perf-sysstat' }
const NAME = 'explain'

const POD = { containers: [{ name: 'app', image: DEBIAN_IMAGE, command: ['sleep', '600'] }] }

function pod(name: string, annotations: object = ASKS, spec: object = {}) {
  const ending = { restartPolicy: 'Never', terminationGracePeriodSeconds: 1 }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, annotations },
    spec: { ...POD, ...ending, ...spec },
  }
}

function explainer(cluster: Cluster, namespace: string) {
  return async (...words: readonly string[]) => {
    const { code, out, err } = await run([
      ...['explain', '--kubeconfig', cluster.kubeconfig, '-n', namespace, '-o', 'json'],
      ...['--webhook-configuration', NAME, '--observer-image', IMAGES.observer, ...words],
    ])
    return { code, err, said: out === '' ? [] : JSON.parse(out) }
  }
}

function apply(cluster: Cluster, namespace: string, object: unknown): Promise<string> {
  return kubectl(cluster, ['apply', '-n', namespace, '-f', '-'], JSON.stringify(object))
}

async function webhookFor(t: Test, cluster: Cluster) {
  const words = ['--observer-image', IMAGES.observer]
  const webhook = await startWebhook(cluster, { name: NAME, words })
  t.teardown(() => webhook.remove())
  return webhook
}

t.test('explain reports a missing webhook, an unknown pod and an unknown kind', async (t) => {
  const { cluster, api } = await runningCluster(t)
  await createNamespace(t, api, 'explain-absent')
  const explain = explainer(cluster, 'explain-absent')
  const folder = t.testdir({ 'pod.json': JSON.stringify(pod('asks')) })
  const { code, said } = await explain('-f', `${folder}/pod.json`)
  t.equal(code, 1)
  t.match(said, [{ reason: 'webhook-absent', conclusion: /without observers: no MutatingWebhook/ }])
  const none = await explain('pod/nobody')
  t.match(none, {
    code: 2,
    err: /^ridealong: there is no pod\/nobody in namespace explain-absent\n$/,
  })
  t.match(await explain('balloon/b'), { code: 2, err: /has no namespaced kind "balloon"/ })
})

t.test('explain describes the pods of a cluster with a webhook', async (t) => {
  const setting = await startExplaining(t)

  await t.test('an injected pod has the verdict ok for each rule, and its cost is shown', (t) =>
    showsInjected(t, setting),
  )

  await t.test(
    'explain repeats the reason in the status annotation of a pod, and names a remedy',
    (t) => repeatsReason(t, setting),
  )

  await t.test('explain reports an application whose image cannot be pulled', (t) =>
    reportsFailedPull(t, setting),
  )

  await t.test('explain groups the pods of a Job by outcome', (t) => groupsPods(t, setting))

  await t.test('explain finds the pods of a Deployment, which its ReplicaSet owns', (t) =>
    findsDeploymentPods(t, setting),
  )

  await t.test('explain predicts an injection for a pod in an armed namespace', (t) =>
    predictsInjection(t, setting),
  )

  await t.test(
    'explain reports a wrong CA, and a webhook that was down when the pod was created',
    (t) => reportsBrokenWebhook(t, setting),
  )

  await t.test('explain reports an annotated namespace that is not armed', (t) =>
    reportsUnarmedNamespace(t, setting),
  )
})

async function startExplaining(t: Test) {
  const { cluster, api } = await runningCluster(t)
  await createNamespace(t, api, 'explain')
  const webhook = await webhookFor(t, cluster)
  await createNamespace(t, api, 'explain-unarmed', { annotations: ASKS })
  const explain = explainer(cluster, 'explain')
  return { cluster, explain, api, webhook }
}

type Setting = Awaited<ReturnType<typeof startExplaining>>

async function showsInjected(t: Test, { cluster, explain }: Setting): Promise<void> {
  await apply(cluster, 'explain', pod('asks'))
  const { code, said } = await explain('pod/asks')
  t.equal(code, 0)
  t.match(said, [{ outcome: 'injected', conclusion: 'The pod was injected with perf-sysstat.' }])
  const verdicts = Object.fromEntries(
    said[0].findings.map(({ name, verdict }: Named) => [name, verdict]),
  )
  t.match(verdicts, {
    'webhook configuration': 'ok',
    CA: 'ok',
    matchConditions: 'ok',
    quota: undefined,
  })
  t.strictSame(said[0].cost, {
    pods: 1,
    requests: { cpu: '0', memory: '0' },
    limits: { cpu: '100m', memory: '32Mi' },
  })
}

async function repeatsReason(t: Test, { cluster, explain }: Setting): Promise<void> {
  await apply(cluster, 'explain', pod('host', ASKS, { hostPID: true }))
  const { code, said } = await explain('pod/host')
  t.equal(code, 1)
  t.match(said, [{ reason: 'host-pid', remedy: 'remove hostPID from the pod template' }])
}

async function reportsFailedPull(t: Test, { cluster, explain }: Setting): Promise<void> {
  await apply(
    cluster,
    'explain',
    pod('imageless', {}, { containers: [{ name: 'app', image: 'localhost:1/x' }] }),
  )
  const held = async () => {
    const { said } = await explain('pod/imageless')
    return said[0].findings.find(({ name }: Named) => name === 'container app')
  }
  await until('the kubelet reports the failed pull', async () => (await held()) !== undefined)
  t.match(await held(), {
    verdict: 'look',
    sentence: /^cannot start: (ErrImagePull|ImagePullBackOff)/,
  })
}

async function groupsPods(t: Test, { cluster, explain, api }: Setting): Promise<void> {
  const spec = { restartPolicy: 'Never', ...POD }
  const template = { metadata: { annotations: ASKS }, spec }
  const indexed = { completions: 3, parallelism: 3, completionMode: 'Indexed', template }
  const job = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'pods' }, spec: indexed }
  await apply(cluster, 'explain', job)
  const pods = async () =>
    JSON.parse(
      await kubectl(cluster, ['get', 'pods', '-n', 'explain', '-l', 'job-name=pods', '-o', 'json']),
    ).items
  await until('three pods exist', async () => (await pods()).length === 3)
  const same = await explain('job/pods')
  t.match(same, {
    code: 0,
    said: [{ subject: 'job/pods, pods 0-2', cost: { pods: 3, limits: { cpu: '300m' } } }],
  })
  // Overwrites the status annotation of one pod, as another controller could.
  const [first] = await pods()
  const status = JSON.stringify({ outcome: 'left', reason: 'quota', message: 'full' })
  const path = `/api/v1/namespaces/explain/pods/${first.metadata.name}`
  await api.merge(path, { metadata: { annotations: { 'ridealong.dev/status': status } } })
  const { code, said } = await explain('job/pods')
  t.equal(code, 1)
  t.equal(said.length, 2)
  t.match(said[0].findings[0], { name: 'pods', sentence: /^the pods differ: pod/ })
  t.same(said.map(({ outcome }: { outcome: string }) => outcome).sort(), ['injected', 'left'])
}

async function findsDeploymentPods(t: Test, { cluster, explain }: Setting): Promise<void> {
  const labels = { app: 'deployed' }
  const template = { metadata: { labels, annotations: ASKS }, spec: POD }
  const spec = { replicas: 2, selector: { matchLabels: labels }, template }
  await apply(cluster, 'explain', {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'd' },
    spec,
  })
  await until('both pods exist', async () => (await explain('deploy/d')).said[0]?.cost?.pods === 2)
  t.match((await explain('deployments.apps/d')).said, [{ outcome: 'injected' }])
}

async function predictsInjection(t: Test, { cluster }: Setting): Promise<void> {
  const folder = t.testdir({ 'pod.json': JSON.stringify(pod('quiet', {})) })
  const elsewhere = explainer(cluster, 'explain-unarmed')
  t.match(await elsewhere('-f', `${folder}/pod.json`), {
    code: 0,
    said: [{ outcome: 'injected' }],
  })
}

async function reportsBrokenWebhook(
  t: Test,
  { api, explain, webhook, cluster }: Setting,
): Promise<void> {
  const other = await makeAuthority()
  const { body } = await api.get(`${CONFIGURATIONS}/${NAME}`)
  const caBundle = Buffer.from(other.ca).toString('base64')
  const webhooks = body.webhooks.map((one: { clientConfig: object }) => ({
    ...one,
    clientConfig: { ...one.clientConfig, caBundle },
  }))
  await api.merge(`${CONFIGURATIONS}/${NAME}`, { webhooks })
  const folder = t.testdir({ 'pod.json': JSON.stringify(pod('later')) })
  t.match((await explain('-f', `${folder}/pod.json`)).said, [
    { reason: 'webhook-ca', conclusion: /caBundle does not verify the server's certificate/ },
  ])
  await api.merge(`${CONFIGURATIONS}/${NAME}`, { webhooks: body.webhooks })
  t.match((await explain('-f', `${folder}/pod.json`)).said, [{ outcome: 'injected' }])
  await webhook.stop()
  await alone(cluster)
  await apply(cluster, 'explain', pod('unanswered'))
  t.match((await explain('pod/unanswered')).said, [
    {
      outcome: 'left',
      reason: 'webhook-away',
      conclusion:
        'The pod requests observers, but the webhook did not answer when the pod was created.',
    },
  ])
}

async function reportsUnarmedNamespace(t: Test, { cluster }: Setting): Promise<void> {
  await kubectl(cluster, ['label', 'namespace', 'explain-unarmed', 'ridealong.dev/armed-'])
  const folder = t.testdir({ 'pod.json': JSON.stringify(pod('quiet', {})) })
  const elsewhere = explainer(cluster, 'explain-unarmed')
  t.match(await elsewhere('-f', `${folder}/pod.json`), {
    code: 1,
    said: [{ reason: 'not-armed', remedy: /^annotate the namespace again/ }],
  })
}

interface Named {
  readonly name: string
  readonly verdict: string
}

/** Waits until the stopped webhook is the only configured webhook, so that no webhook answers. */
async function alone(cluster: Cluster): Promise<void> {
  const get = ['get', 'mutatingwebhookconfigurations', '-o', 'json']
  await until('no other webhook is configured', async () => {
    const { items } = JSON.parse(await kubectl(cluster, get))
    return items.every(({ metadata }: { metadata: Named }) => metadata.name === NAME)
  })
}

import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import type { Cluster } from './cluster.ts'
import { kubectl } from './kubectl.ts'
import { createNamespace, runningCluster } from './running.ts'
import { run, tools } from './tools.ts'
import { until } from './until.ts'

// The policies of the chart, judged by the apiserver, with no webhook: what the guard says is then all
// that is known of a pod that asked.

const CHART = fileURLToPath(new URL('../../charts/ridealong', import.meta.url))
const NAME = 'policies'

/** Installs some templates of the chart for as long as a test runs. */
async function install(t: Test, cluster: Cluster, ...templates: readonly string[]): Promise<void> {
  const helm = join(await tools('helm-4', () => {}), 'helm')
  const manifests = await run(helm, [
    ...['template', NAME, CHART, '--namespace', 'ridealong-system'],
    ...['--set', `fullnameOverride=${NAME}`],
    ...['--set', 'imageHolder.enabled=false'],
    ...['--set', 'guard.denyNamespaceSelector.matchLabels.guard=deny'],
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
const LEFT = JSON.stringify({ outcome: 'left', reason: 'host-pid', message: 'x' })

const observer = (name: string) => ({ name, image: 'o', restartPolicy: 'Always' })
const OBSERVERS = [observer('perf-sysstat'), observer('io-sysstat')]

function podOf(annotations: object | undefined, spec: object = {}) {
  const containers = [{ name: 'app', image: 'a' }]
  const metadata = { generateName: 'guarded-', ...(annotations && { annotations }) }
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers, ...spec } }
}

const asks = (inject: string) => podOf({ 'ridealong.dev/inject': inject })
const told = (status: string, spec: object = {}) =>
  podOf({ 'ridealong.dev/inject': 'perf-sysstat,io-sysstat', 'ridealong.dev/status': status }, spec)

const UNANSWERED = 'asked for observers, and the webhook gave no answer'
const ALTERED = 'an observer was taken away or altered after it was added:'

t.test('the guard says which pods asked and got nothing, or had it altered', async (t) => {
  const { cluster, api } = await runningCluster(t)
  await createNamespace(t, api, 'guard-asks', { annotations: { 'ridealong.dev/inject': 'a' } })
  await createNamespace(t, api, 'guard-silent')
  await install(t, cluster, 'guard.yaml')
  const warnings = async (namespace: string, pod: object) => {
    const answer = await api.post(`/api/v1/namespaces/${namespace}/pods?dryRun=All`, pod)
    t.equal(answer.status, 201, 'and lets them run')
    return answer.warnings.map((warning) => warning.replace(/^.*' with binding '\S+': /, ''))
  }
  await until('the guard judges', async () => {
    return (await warnings('guard-silent', asks('perf-sysstat'))).length > 0
  })
  const shared = { shareProcessNamespace: true }
  const [perf, io] = OBSERVERS
  const stripped = { name: 'io-sysstat', image: 'o' }
  const rows: readonly (readonly [string, object, readonly string[]])[] = [
    ['guard-silent', podOf(undefined), []],
    ['guard-silent', podOf({}), []],
    ['guard-silent', asks(''), []],
    ['guard-silent', asks(' , '), []],
    ['guard-silent', asks(' false '), []],
    ['guard-silent', asks('perf-sysstat'), [UNANSWERED]],
    ['guard-asks', podOf(undefined), [UNANSWERED]],
    ['guard-asks', asks('false'), []],
    ['guard-silent', told(LEFT), []],
    ['guard-silent', told('not JSON'), []],
    ['guard-silent', told(STATUS, { ...shared, initContainers: OBSERVERS }), []],
    ['guard-silent', told(STATUS, { ...shared, containers: [perf, io].map(plain) }), []],
    ['guard-silent', told(STATUS, shared), [`${ALTERED} perf-sysstat, io-sysstat`]],
    [
      'guard-silent',
      told(STATUS, { ...shared, initContainers: [perf] }),
      [`${ALTERED} io-sysstat`],
    ],
    [
      'guard-silent',
      told(STATUS, { ...shared, initContainers: [perf, stripped] }),
      [`${ALTERED} io-sysstat`],
    ],
    [
      'guard-silent',
      told(STATUS, { initContainers: OBSERVERS }),
      [`${ALTERED} shareProcessNamespace is not true`],
    ],
  ]
  for (const [namespace, pod, expected] of rows) {
    t.same(await warnings(namespace, pod), expected, JSON.stringify(pod))
  }
})

function plain(container: object | undefined) {
  return { ...container, restartPolicy: undefined }
}

t.test('the guard refuses where the administrator says so', async (t) => {
  const { cluster, api } = await runningCluster(t)
  await createNamespace(t, api, 'guard-deny', { labels: { guard: 'deny' } })
  await install(t, cluster, 'guard.yaml')
  const path = '/api/v1/namespaces/guard-deny/pods?dryRun=All'
  await until('the guard refuses', async () => {
    return (await api.post(path, asks('perf-sysstat'))).status === 422
  })
  t.equal((await api.post(path, podOf({}))).status, 201, 'but no pod that does not ask')
})

t.test('the webhook may change the label of a namespace, and nothing else of it', async (t) => {
  const { cluster, api } = await runningCluster(t)
  const name = 'fenced'
  await createNamespace(t, api, name, { labels: { a: 'b' }, annotations: { c: 'd' } })
  // kubectl reads what it patches, as the webhook does.
  await install(t, cluster, 'rbac.yaml', 'arming.yaml')
  const account = `system:serviceaccount:ridealong-system:${NAME}`
  const patch = (metadata: object) =>
    kubectl(cluster, [
      ...['patch', 'namespace', name, '--as', account, '--type=merge'],
      ...['--patch', JSON.stringify({ metadata })],
    ]).then(
      () => 'done',
      (error: Error) => / denied request: (.*)/.exec(error.message)?.[1] ?? error.message,
    )
  const label = (value: string | null) => patch({ labels: { 'ridealong.dev/armed': value } })
  await until('the right is given', async () => (await label('true')) === 'done')
  let tries = 0
  await until('the fence stands', async () => {
    tries += 1
    return (await patch({ labels: { e: `${tries}` } })) !== 'done'
  })
  t.equal(await label(null), 'done')
  t.equal(await label('true'), 'done')
  t.match(await label('maybe'), 'to true alone')
  const others = 'changes no label of a namespace but'
  t.match(await patch({ labels: { a: null } }), others)
  t.match(await patch({ labels: { a: 'x' } }), others)
  t.match(await patch({ labels: { 'ridealong.dev/armed': 'true', g: 'h' } }), others)
  const nothing = 'changes nothing of a namespace but'
  t.match(await patch({ annotations: { c: null } }), nothing)
  t.match(await patch({ annotations: { i: 'j' } }), nothing)
  t.match(await patch({ finalizers: ['example.com/k'] }), nothing)
  const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'l', uid: 'm' }
  t.match(await patch({ ownerReferences: [owner] }), nothing)
  const { body } = await api.merge(`/api/v1/namespaces/${name}`, {
    metadata: { labels: { n: 'o' } },
  })
  t.equal(body.metadata.labels.n, 'o', 'and whoever else has the right may do all of this')
})

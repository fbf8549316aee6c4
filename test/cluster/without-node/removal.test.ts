import t, { type Test } from 'tap'
import { createMetrics } from '../../../webhook/metrics.ts'
import { buildStatusApp, type ReadinessCheck } from '../../../webhook/status-app.ts'
import { run } from '../../cli/command.ts'
import type { Api } from '../api.ts'
import { waitUntilEstablished } from '../established.ts'
import { kubectl } from '../machine/kubectl.ts'
import { createNamespace, runningCluster } from '../running.ts'
import { until } from '../until.ts'
import { startWebhook } from '../webhook.ts'

// Tests of two verbs on an apiserver, in most tests without a webhook: `disarm`, which Helm runs
// before it removes the chart, and `doctor`, which `helm test` runs.

const CERTIFICATES = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'certificates.cert-manager.io' },
  spec: {
    group: 'cert-manager.io',
    names: { kind: 'Certificate', plural: 'certificates', singular: 'certificate' },
    scope: 'Namespaced',
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object' } },
      },
    ],
  },
}

const ARMED = { 'ridealong.dev/armed': 'true' }

const CONFIGURATIONS = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations'
const BINDINGS = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings'

/** Creates the objects of two installations: one to be removed, and one to be kept. */
async function createObjects(t: Test, api: Api): Promise<void> {
  for (const name of ['removed', 'kept']) {
    await api.post(CONFIGURATIONS, { metadata: { name } })
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' }
    await api.post(BINDINGS, { metadata: { name: `${name}-arming` }, roleRef })
    await api.post('/api/v1/namespaces/armed-1/secrets', { metadata: { name } })
    await api.post('/api/v1/namespaces/armed-1/secrets', { metadata: { name: `${name}-own` } })
  }
  t.teardown(() => api.delete(`${CONFIGURATIONS}/kept`))
  t.teardown(() => api.delete(`${BINDINGS}/kept-arming`))
}

t.test(
  'disarm removes objects and labels that would outlive an installation, and no others',
  async (t) => {
    const { cluster, api } = await runningCluster(t)
    const disarm = (...words: readonly string[]) =>
      run(['disarm', '--kubeconfig', cluster.kubeconfig, ...words])
    await until('no namespace of another test is armed', async () => {
      const { body } = await api.get('/api/v1/namespaces?labelSelector=ridealong.dev/armed')
      return body.items.length === 0
    })
    await createNamespace(t, api, 'armed-1', { labels: { ...ARMED, kept: 'yes' } })
    await createNamespace(t, api, 'armed-2', { labels: ARMED })
    await createObjects(t, api)
    const words = [
      ...['--webhook-configuration', 'removed', '--cluster-role-binding', 'removed-arming'],
      ...['--namespace', 'armed-1', '--certificate', 'removed', '--secret', 'removed-own'],
    ]
    t.same(await disarm(...words), {
      code: 0,
      err: '',
      out: [
        'MutatingWebhookConfiguration removed: removed',
        'ClusterRoleBinding removed-arming: removed',
        'Namespace armed-1: label ridealong.dev/armed removed',
        'Namespace armed-2: label ridealong.dev/armed removed',
        'Certificate removed: not found',
        'Secret removed: removed',
        'Secret removed-own: removed',
        '',
      ].join('\n'),
    })
    t.equal((await api.get(`${CONFIGURATIONS}/removed`)).status, 404)
    t.equal((await api.get(`${CONFIGURATIONS}/kept`)).status, 200)
    t.equal((await api.get(`${BINDINGS}/kept-arming`)).status, 200)
    for (const name of ['kept', 'kept-own'])
      t.equal((await api.get(`/api/v1/namespaces/armed-1/secrets/${name}`)).status, 200)
    const { labels } = (await api.get('/api/v1/namespaces/armed-1')).body.metadata
    t.same(labels, { 'kubernetes.io/metadata.name': 'armed-1', kept: 'yes' })
    const again = await disarm(...words)
    t.equal(again.code, 0, 'disarm succeeds a second time')
    t.notMatch(again.out, / removed$|disarmed/m)
  },
)

t.test(
  'disarm removes a Certificate before its Secret, so that no new Secret is issued',
  async (t) => {
    const { cluster, api } = await runningCluster(t)
    await createNamespace(t, api, 'certified')
    await kubectl(cluster, ['apply', '-f', '-'], JSON.stringify(CERTIFICATES))
    t.teardown(() => kubectl(cluster, ['delete', 'crd', CERTIFICATES.metadata.name]))
    await waitUntilEstablished(cluster, [`crd/${CERTIFICATES.metadata.name}`])
    const metadata = { name: 'tls', namespace: 'certified' }
    const certificate = { apiVersion: 'cert-manager.io/v1', kind: 'Certificate', metadata }
    // A kind is served a moment after its definition is established.
    await until('the Certificate is created', () =>
      kubectl(cluster, ['apply', '-f', '-'], JSON.stringify(certificate)).then(
        () => true,
        () => false,
      ),
    )
    const { code, out } = await run([
      ...['disarm', '--kubeconfig', cluster.kubeconfig],
      ...['--namespace', 'certified', '--certificate', 'tls'],
    ])
    t.equal(code, 0)
    t.match(out, /Certificate tls: removed\nSecret tls: not found\n$/)
  },
)

t.test('disarm reports a request that the apiserver refuses', async (t) => {
  const { cluster, api } = await runningCluster(t)
  await createNamespace(t, api, 'refused', { labels: ARMED })
  const raw = await kubectl(cluster, ['config', 'view', '--raw', '--flatten', '-o', 'json'])
  const config = JSON.parse(raw)
  const token = (await kubectl(cluster, ['-n', 'refused', 'create', 'token', 'default'])).trim()
  config.users[0].user = { token }
  const folder = t.testdir({ kubeconfig: JSON.stringify(config) })
  const { code, out, err } = await run(['disarm', '--kubeconfig', `${folder}/kubeconfig`])
  t.equal(code, 2, out)
  t.equal(out, '')
  t.match(
    err,
    /^ridealong: cannot list namespaces to remove the label ridealong\.dev\/armed: .*cannot list resource/,
  )
})

t.test('disarm reports a label that a webhook sets again', async (t) => {
  const { cluster, api } = await runningCluster(t)
  const webhook = await startWebhook(cluster, { name: 'staying' })
  t.teardown(() => webhook.remove())
  const annotations = { 'ridealong.dev/inject': 'perf-sysstat' }
  await createNamespace(t, api, 'annotated-armed', { annotations })
  const { code, err } = await run(['disarm', '--kubeconfig', cluster.kubeconfig])
  t.equal(code, 2)
  t.match(err, /the label of Namespace annotated-armed: a webhook sets the label again/)
})

t.test('doctor reports a missing webhook, and the checks of the status port', async (t) => {
  const { cluster } = await runningCluster(t)
  const checks: readonly ReadinessCheck[] = [
    { name: 'serving', problem: undefined, fatal: true },
    { name: 'catalog', problem: 'metrics.yaml: metric io-sysstat is defined twice', fatal: false },
  ]
  const app = buildStatusApp(createMetrics().registry, () => checks)
  t.teardown(() => app.close())
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const doctor = (...words: readonly string[]) =>
    run(['doctor', '--kubeconfig', cluster.kubeconfig, ...words])
  // A kubelet writes the address of a Service to the environment in this form.
  const { code, out, err } = await doctor('--status-url', url.replace('http:', 'tcp:'))
  t.equal(code, 1, err)
  t.match(out, /^ok {7}the webhook's serving +ok\n/)
  t.match(out, /\nno {7}the webhook's catalog +metrics\.yaml: metric io-sysstat is defined twice\n/)
  t.match(
    out,
    /\nno {7}webhook configuration +no MutatingWebhookConfiguration has .*\n +What to do: install/,
  )
  t.match(out, /\nno {7}dry run: namespace +in a dry run, the webhook did not answer\n/)
  t.match(out, /\nno {7}dry run: pod +in a dry run, the webhook did not answer\n/)
  // No program listens on this system port, and fetch does not block it.
  const unreachable = await doctor('--status-url', 'http://127.0.0.1:2')
  t.equal(unreachable.code, 1)
  t.match(unreachable.out, /^no {7}the webhook answers +connect ECONNREFUSED/)
})

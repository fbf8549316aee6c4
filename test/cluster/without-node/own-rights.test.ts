import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { sampleOf, startServer } from '../../webhook/server.ts'
import type { Api } from '../api.ts'
import type { Cluster } from '../machine/cluster.ts'
import { kubectl } from '../machine/kubectl.ts'
import { renderTemplate } from '../release/chart.ts'
import { kubeconfigOf } from '../release/doctor-rights.ts'
import { configurationName } from '../release/helm.ts'
import { createNamespace, runningCluster } from '../running.ts'
import { until } from '../until.ts'
import { CONFIGURATIONS } from '../webhook.ts'

// A server that makes its own certificate, with exactly the rights that the chart gives it, and the
// requests that these rights do not allow.

const NAME = 'own-rights'
const CONFIGURATION = configurationName(NAME)
const SECRET = `${NAME}-own-tls`
const PODS = 'own-rights-pods'
const VALUES = ['--set', `fullnameOverride=${NAME},certificates.mode=self`]
const TEMPLATES = ['own-certificates', 'rbac', 'service-account']

// The kubeconfig is in the folder of this file, because startServer() replaces the test's folder.
const kubeconfig = join(t.testdir({}), 'config')

/** Creates the chart's service account and its rights, and deletes them when the test ends. */
async function createRights(t: Test, cluster: Cluster): Promise<void> {
  const rendered = await Promise.all(TEMPLATES.map((file) => renderTemplate(file, VALUES, NAME)))
  const list = { apiVersion: 'v1', kind: 'List', items: rendered.flat() }
  await kubectl(cluster, ['apply', '-f', '-'], JSON.stringify(list))
  t.teardown(() => kubectl(cluster, ['delete', '-f', '-'], JSON.stringify(list)))
  writeFileSync(kubeconfig, await kubeconfigOf(cluster, NAME, NAME))
}

interface Rendered {
  readonly clientConfig: { readonly service: { readonly path: string } }
}

/**
 * Creates the chart's webhook configuration, but with the URL of the server, and only for the
 * namespace of the pods.
 */
async function configure(t: Test, cluster: Cluster, port: number): Promise<string> {
  const [object] = await renderTemplate('webhook-configuration', VALUES, NAME)
  const [key, operator] = ['kubernetes.io/metadata.name', 'In']
  const webhooks = object.webhooks.map((webhook: Rendered) => ({
    ...webhook,
    clientConfig: { url: `https://localhost:${port}${webhook.clientConfig.service.path}` },
    namespaceSelector: { matchExpressions: [{ key, operator, values: [PODS] }] },
  }))
  const manifest = JSON.stringify({ ...object, webhooks })
  await kubectl(cluster, ['apply', '--server-side', '-f', '-'], manifest)
  t.teardown(() => kubectl(cluster, ['delete', '-f', '-'], manifest))
  return manifest
}

async function statusOf(api: Api): Promise<string | undefined> {
  const { body } = await api.post(`/api/v1/namespaces/${PODS}/pods?dryRun=All`, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { generateName: 'own-', annotations: { 'ridealong.dev/inject': 'perf-sysstat' } },
    spec: { containers: [{ name: 'app', image: 'app' }] },
  })
  return body.metadata?.annotations?.['ridealong.dev/status']
}

t.test('a server makes its own certificate with the rights of the chart', async (t) => {
  const setting = await startServerWithRights(t)

  await t.test('when the server is ready, the apiserver can call it', (t) =>
    answersWhenReady(t, setting),
  )

  await t.test('the Secret is created again after its deletion', (t) =>
    renewsDeletedSecret(t, setting),
  )

  await t.test('a second server-side apply has no conflict, and keeps caBundle', (t) =>
    appliesTwice(t, setting),
  )

  await t.test('the server can change only caBundle in its webhook configuration', (t) =>
    changesOnlyBundle(t, setting),
  )

  await t.test('the server can use only its own Secret, configuration and Lease', (t) =>
    usesOnlyOwnObjects(t, setting),
  )
})

async function startServerWithRights(t: Test) {
  const { cluster, api } = await runningCluster(t)
  await createNamespace(t, api, NAME)
  await createNamespace(t, api, PODS)
  await createRights(t, cluster)
  const server = await startServer(t, {
    kubeconfig,
    keyPair: {
      secret: `${NAME}/${SECRET}`,
      webhookConfiguration: CONFIGURATION,
      names: ['localhost'],
      lease: `${NAME}/${NAME}-certificates`,
      durationMs: 3_600_000,
    },
  })
  const readiness = async () => (await server.status('/readyz')).status
  t.equal(await readiness(), 503)
  const manifest = await configure(t, cluster, server.port)
  const as = (words: readonly string[], input?: string) =>
    kubectl({ ...cluster, kubeconfig }, words, input)
  const patch = (operation: object) =>
    as([
      ...['patch', 'mutatingwebhookconfiguration', CONFIGURATION, '--type=json'],
      ...['-p', JSON.stringify([operation])],
    ])
  return { readiness, api, server, cluster, manifest, patch, as }
}

type Setting = Awaited<ReturnType<typeof startServerWithRights>>

async function answersWhenReady(t: Test, { readiness, api }: Setting): Promise<void> {
  await until('the server is ready', async () => (await readiness()) === 200)
  t.match(await statusOf(api), /"outcome":"injected"/)
}

async function renewsDeletedSecret(t: Test, { server, api }: Setting): Promise<void> {
  const expiry = 'ridealong_certificate_expiry_timestamp_seconds'
  const ends = async () => sampleOf(await server.metrics(), expiry)
  const before = await ends()
  await api.delete(`/api/v1/namespaces/${NAME}/secrets/${SECRET}`)
  await until('a new certificate is used', async () => (await ends()) !== before)
  t.match(await statusOf(api), /"outcome":"injected"/)
}

async function appliesTwice(t: Test, { api, cluster, manifest }: Setting): Promise<void> {
  const bundle = async () =>
    (await api.get(`${CONFIGURATIONS}/${CONFIGURATION}`)).body.webhooks[0].clientConfig.caBundle
  const before = await bundle()
  await kubectl(cluster, ['apply', '--server-side', '-f', '-'], manifest)
  t.equal(await bundle(), before)
}

async function changesOnlyBundle(t: Test, { patch, api }: Setting): Promise<void> {
  const first = '/webhooks/0'
  for (const [path, value] of [
    ['failurePolicy', 'Fail'],
    ['timeoutSeconds', 30],
    ['namespaceSelector', {}],
    ['matchConditions', []],
    ['clientConfig/url', 'https://elsewhere'],
    ['rules/0/resources', ['secrets']],
  ] as const) {
    const change = patch({ op: 'replace', path: `${first}/${path}`, value })
    await t.rejects(change, /may change nothing of a webhook except caBundle/, path)
  }
  await t.rejects(patch({ op: 'remove', path: first }), /may change nothing of a webhook/)
  const label = { op: 'add', path: '/metadata/labels/a', value: 'b' }
  await t.rejects(patch(label), /may not change the metadata of a webhook configuration/)
  await patch({ op: 'remove', path: `${first}/clientConfig/caBundle` })
  await until('the server writes caBundle again', async () => {
    return (await statusOf(api))?.includes('"outcome":"injected"') === true
  })
}

async function usesOnlyOwnObjects(t: Test, { as }: Setting): Promise<void> {
  const secret = (name: string) =>
    JSON.stringify({ apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: NAME } })
  const where = ['-n', NAME]
  for (const [words, input] of [
    [['get', 'secrets', ...where]],
    [['get', 'secret', 'other', ...where]],
    [['get', 'secret', SECRET, '-n', PODS]],
    [['delete', 'secret', SECRET, ...where]],
    [['create', '-f', '-'], secret('other')],
    [['create', '-f', '-'], secret(SECRET)],
    [['apply', '--server-side', '-f', '-'], secret('other')],
    [['get', 'mutatingwebhookconfiguration', 'other']],
    [['delete', 'mutatingwebhookconfiguration', CONFIGURATION]],
    [['get', 'leases', ...where]],
  ] as const) {
    await t.rejects(as(words, input), /is forbidden|cannot/, words.join(' '))
  }
}

import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Api } from '../../api.ts'
import { kubectl } from '../../machine/kubectl.ts'
import { startCertManager } from '../../release/cert-manager.ts'
import { configurationName, helm, type Release, replicasOf } from '../../release/helm.ts'
import { ASKS, type ConfiguredWebhook, installOwn } from '../../release/own-certificate.ts'
import { killContainer, settled } from '../../release/replicas.ts'
import { runningCluster } from '../../running.ts'
import { until } from '../../until.ts'
import { CONFIGURATIONS } from '../../webhook.ts'

// Installs the chart with certificates.mode=self, without cert-manager. While pods are created, the
// Secret of the certificate is deleted, the replica that renews the certificate ends, the clocks of
// the replicas are two hours ahead, or cert-manager takes over. No pod is missed, that is, created
// without observers because no replica answered.

const NAME = 'ridealong-own'
const SECRET = `${NAME}-own-tls`
const SECRETS = `/api/v1/namespaces/${NAME}/secrets`

/** Returns the name of the replica that renews the certificate. */
async function leader(api: Api): Promise<string> {
  const path = `/apis/coordination.k8s.io/v1/namespaces/${NAME}/leases/${NAME}-certificates`
  const { holderIdentity = '' } = (await api.get(path)).body.spec
  return holderIdentity.split('_')[0]
}

const rollout = ({ cluster, name }: Release) =>
  kubectl(cluster, ['rollout', 'status', `deployment/${name}`, '-n', name])

/** A module that moves the clock of Date two hours ahead. */
const AHEAD = `const D=Date;globalThis.Date=class extends D{
constructor(...a){super(...(a.length?a:[D.now()+72e5]))}static now(){return D.now()+72e5}}`

/**
 * Moves the clocks of all replicas two hours ahead, or back. Only the clock of JavaScript is moved,
 * with which the webhook makes certificates and decides about renewals.
 */
async function moveClock(release: Release, isAhead: boolean): Promise<void> {
  const option = `--import=data:text/javascript,${encodeURIComponent(AHEAD)}`
  const word = isAhead ? `NODE_OPTIONS=${option}` : 'NODE_OPTIONS-'
  const { cluster, name } = release
  await kubectl(cluster, ['set', 'env', `deployment/${name}`, '-n', name, word])
  await rollout(release)
  await settled(release, 2)
}

/** The steps of the test, which depend on each other, in their order. */
const STEPS: Readonly<Record<string, (t: Test, setting: Setting) => Promise<void>>> = {
  'the first pod after helm install --wait is injected': injectsFirstPod,
  'helm test passes, and names the mode': testNamesMode,
  'an upgrade and a rollback keep the Secret and caBundle': upgradeKeepsCertificate,
  'no pod is missed while the Secret is deleted': survivesDeletedSecret,
  'no pod is missed while garbage in the Secret is replaced': survivesGarbage,
  'no pod is missed while the leader ends in the middle of a renewal': survivesLeaderEnd,
  'another replica completes the renewal of a killed leader': completesRenewal,
  'no pod is missed while the clocks are two hours ahead': survivesClockAhead,
  'no pod is missed while cert-manager takes over, and gives it back': survivesCertManager,
  'the commands of docs/administer/upgrade.md leave only the current CA in caBundle':
    keepsOnlyCurrentAuthority,
  'helm uninstall removes the Secret': removesSecret,
}

t.test('the webhook makes its own certificate', async (t) => {
  const setting = await installRelease(t)
  for (const [title, step] of Object.entries(STEPS)) {
    await t.test(title, (t) => step(t, setting))
  }
})

async function installRelease(t: Test) {
  const { cluster, api } = await runningCluster(t)
  const own = await installOwn(t, cluster, api, NAME, '3h')
  const { release, current, bundles, renewed, upgrade, noneMissed } = own
  return { api, release, current, bundles, upgrade, noneMissed, renewed, cluster }
}

type Setting = Awaited<ReturnType<typeof installRelease>>

async function injectsFirstPod(t: Test, { api }: Setting): Promise<void> {
  const { body } = await api.post('/api/v1/namespaces/own-asking/pods?dryRun=All', {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { generateName: 'first-', annotations: ASKS },
    spec: { containers: [{ name: 'app', image: 'app' }] },
  })
  t.match(body.metadata.annotations['ridealong.dev/status'], /"outcome":"injected"/)
  const path = '/api/v1/namespaces/own-armed'
  const armed = await api.merge(path, { metadata: { annotations: ASKS } })
  t.match(armed.body.metadata.labels, { 'ridealong.dev/armed': 'true' })
}

async function testNamesMode(t: Test, { release }: Setting): Promise<void> {
  await until('helm test passes', () =>
    helm(release, 'test').then(
      () => true,
      () => false,
    ),
  )
  const said = await helm(release, 'test', ['--logs'])
  t.match(said, /^ok +certificate mode +self: /m)
  t.notMatch(said, /^unknown /m)
}

async function upgradeKeepsCertificate(
  t: Test,
  { current, bundles, upgrade, release }: Setting,
): Promise<void> {
  const [before, bundle] = [await current(), await bundles()]
  await upgrade('webhook.timeoutSeconds=4')
  t.equal((await current())?.serialNumber, before?.serialNumber)
  t.strictSame(await bundles(), bundle)
  await helm(release, 'rollback', ['1'])
  await settled(release, 2)
  t.equal((await current())?.serialNumber, before?.serialNumber)
  t.strictSame(await bundles(), bundle)
}

async function survivesDeletedSecret(
  t: Test,
  { noneMissed, current, api, renewed, bundles }: Setting,
): Promise<void> {
  await noneMissed(t, async () => {
    const before = await current()
    await api.delete(`${SECRETS}/${SECRET}`)
    await renewed(before)
  })
  for (const bundle of await bundles())
    t.equal(bundle.match(/BEGIN CERTIFICATE/g)?.length, 2, 'caBundle has the old and the new CA')
}

async function survivesGarbage(
  t: Test,
  { noneMissed, current, api, renewed }: Setting,
): Promise<void> {
  await noneMissed(t, async () => {
    const before = await current()
    await api.merge(`${SECRETS}/${SECRET}`, { data: { 'tls.crt': 'Z2FyYmFnZQ==' } })
    await until('the Secret has another certificate', async () => {
      const cert = await current().catch(() => undefined)
      return cert !== undefined && cert.serialNumber !== before?.serialNumber
    })
    await renewed(before)
  })
}

async function survivesLeaderEnd(
  t: Test,
  { noneMissed, current, api, cluster, release, renewed }: Setting,
): Promise<void> {
  await noneMissed(t, async () => {
    const before = await current()
    await api.delete(`${SECRETS}/${SECRET}`)
    await until('a certificate is prepared', async () => {
      return (await api.get(`${SECRETS}/${SECRET}`)).body.data?.['next-tls.crt'] !== undefined
    })
    await kubectl(cluster, ['delete', 'pod', '-n', NAME, await leader(api)])
    await settled(release, 2)
    await renewed(before)
  })
}

async function completesRenewal(
  t: Test,
  { current, api, release, cluster, noneMissed, renewed }: Setting,
): Promise<void> {
  const before = await current()
  const killed = await leader(api)
  const { containerId = '' } = (await replicasOf(release)).find(({ name }) => name === killed) ?? {}
  await api.delete(`${SECRETS}/${SECRET}`)
  await until('a certificate is prepared', async () => {
    return (await api.get(`${SECRETS}/${SECRET}`)).body.data?.['next-tls.crt'] !== undefined
  })
  await killContainer(cluster, containerId)
  // While the container is started again, calls to it can fail, as in the test upheaval. With the
  // other replica, no call fails.
  await until('the container was started again', async () => {
    const containers = (await replicasOf(release)).map((replica) => replica.containerId)
    return containers.every((id) => id !== '' && id !== containerId)
  })
  await settled(release, 2)
  await noneMissed(t, () => renewed(before))
}

async function survivesClockAhead(
  t: Test,
  { noneMissed, release, current, api, renewed }: Setting,
): Promise<void> {
  await noneMissed(t, async () => {
    await moveClock(release, true)
    const before = await current()
    await api.delete(`${SECRETS}/${SECRET}`)
    await renewed(before)
    const life = Date.parse((await current())?.validTo ?? '') - Date.now()
    t.ok(life > 4 * 3_600_000, 'the certificate was made by a clock that is ahead')
    await moveClock(release, false)
  })
}

async function survivesCertManager(
  t: Test,
  { cluster, noneMissed, upgrade }: Setting,
): Promise<void> {
  await startCertManager(t, cluster)
  await noneMissed(t, async () => {
    await upgrade('certificates.mode=cert-manager')
    await upgrade('certificates.mode=self')
  })
}

async function keepsOnlyCurrentAuthority(
  t: Test,
  { api, bundles, release }: Setting,
): Promise<void> {
  const { body } = await api.get(`${SECRETS}/${SECRET}`)
  const caBundle = body.data['ca.crt']
  const { webhooks } = (await api.get(`${CONFIGURATIONS}/${configurationName(NAME)}`)).body
  const changed = webhooks.map((webhook: ConfiguredWebhook) => {
    return { ...webhook, clientConfig: { ...webhook.clientConfig, caBundle } }
  })
  await api.merge(`${CONFIGURATIONS}/${configurationName(NAME)}`, { webhooks: changed })
  // The replicas read the configuration several times.
  await sleep(15_000)
  for (const bundle of await bundles()) t.equal(btoa(bundle), caBundle)
  t.match(await helm(release, 'test', ['--logs']), /^ok +certificate mode +self: /m)
}

async function removesSecret(t: Test, { release, api }: Setting): Promise<void> {
  await helm(release, 'uninstall')
  t.equal((await api.get(`${SECRETS}/${SECRET}`)).status, 404)
  t.equal((await api.get(`${CONFIGURATIONS}/${configurationName(NAME)}`)).status, 404)
}

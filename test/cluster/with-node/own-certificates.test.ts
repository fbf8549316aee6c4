import { X509Certificate } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { sampleOf } from '../../server.ts'
import type { Api } from '../api.ts'
import { IMAGES } from '../machine/images.ts'
import { kubectl } from '../machine/kubectl.ts'
import { startCertManager } from '../release/cert-manager.ts'
import { CHART, helm, metricsOf, OWN_IMAGES, type Release, replicasOf } from '../release/helm.ts'
import { killContainer, settled } from '../release/replicas.ts'
import { during, type Tally } from '../release/steady-load.ts'
import { createNamespace, runningCluster } from '../running.ts'
import { until } from '../until.ts'
import { CONFIGURATIONS } from '../webhook.ts'

// Installs the chart with certificates.mode=self, without cert-manager. While pods are created, the
// certificate is renewed every minute, its Secret is deleted, the replica that renews it ends, or
// the clocks of the replicas are two hours ahead. No pod is missed, that is, created without
// observers because no replica answered.

const NAME = 'ridealong-own'
const SECRET = `${NAME}-own-tls`
const ASKS = { 'ridealong.dev/inject': 'perf-sysstat' }
const LOAD = {
  places: [
    { namespace: 'own-asking', annotations: ASKS },
    { namespace: 'own-armed', annotations: {} },
  ],
  rate: 50,
}

/** How long certificates are renewed every minute. */
const { OWN_CERTIFICATE_MINUTES = '3' } = process.env
const MINUTES = Number(OWN_CERTIFICATE_MINUTES)

const EXPIRY = 'ridealong_certificate_expiry_timestamp_seconds'
const SECRETS = `/api/v1/namespaces/${NAME}/secrets`

/** Values with the image of the tool of cpu-profile, so that the node has every image. */
const [, REPOSITORY, TAG] = /^ghcr\.io\/(.*):(.*)$/.exec(IMAGES['cpu-profile']) ?? []
const TOOL_IMAGE = ['registry=ghcr.io', `repository=${REPOSITORY}`, `tag=${TAG}`].flatMap(
  (value) => ['--set', `toolImages.cpu-profile.${value}`],
)

/** The lifetimes of certificates in the tests: renewed every minute, and not renewed. */
const SHORT = 'certificates.self.duration=2m'
const LONG = 'certificates.self.duration=3h'

/** Returns the certificate in the Secret; undefined if there is none. */
async function current(api: Api): Promise<X509Certificate | undefined> {
  const { body } = await api.get(`${SECRETS}/${SECRET}`)
  const cert = body.data?.['tls.crt']
  return cert ? new X509Certificate(Buffer.from(cert, 'base64')) : undefined
}

interface Webhook {
  readonly clientConfig: { readonly caBundle?: string }
}

/** Returns the caBundle of each webhook, in PEM. */
async function bundles(api: Api): Promise<readonly string[]> {
  const { webhooks } = (await api.get(`${CONFIGURATIONS}/${NAME}`)).body
  return webhooks.map(({ clientConfig }: Webhook) =>
    Buffer.from(clientConfig.caBundle ?? '', 'base64').toString(),
  )
}

/** Waits until the Secret has another certificate, and every replica uses it. */
async function renewed(api: Api, release: Release, before: X509Certificate | undefined) {
  await until('the Secret has a new certificate', async () => {
    const serial = (await current(api))?.serialNumber
    return serial !== undefined && serial !== before?.serialNumber
  })
  const certificate = await current(api)
  const ends = Date.parse(certificate?.validTo ?? '') / 1000
  await until('every replica uses the new certificate', async () => {
    const shown = await Promise.all((await replicasOf(release)).map(metricsOf))
    return shown.length === 2 && shown.every((text) => sampleOf(text, EXPIRY) === ends)
  })
}

/** Returns the name of the replica that renews the certificate. */
async function leader(api: Api): Promise<string> {
  const path = `/apis/coordination.k8s.io/v1/namespaces/${NAME}/leases/${NAME}-certificates`
  const { holderIdentity = '' } = (await api.get(path)).body.spec
  return holderIdentity.split('_')[0]
}

const rollout = ({ cluster, name }: Release) =>
  kubectl(cluster, ['rollout', 'status', `deployment/${name}`, '-n', name])

/** Sets values of the release, and waits until only replicas with these values run. */
async function upgrade(release: Release, ...values: readonly string[]): Promise<void> {
  const words = values.flatMap((value) => ['--set', value])
  await helm(release, 'upgrade', [CHART, '--reuse-values', ...words])
  await settled(release, 2)
}

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

t.test('the webhook makes its own certificate', async (t) => {
  const { cluster, api } = await runningCluster(t)
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' }
  await createNamespace(t, api, NAME, { labels })
  await createNamespace(t, api, 'own-asking')
  await createNamespace(t, api, 'own-armed')
  const release = { cluster, name: NAME }
  t.teardown(() => helm(release, 'uninstall').catch(() => {}))
  const mode = ['--set', `certificates.mode=self,${LONG}`]
  await helm(release, 'install', [CHART, ...OWN_IMAGES, ...TOOL_IMAGE, ...mode])

  await t.test('the first pod after helm install --wait is injected', async (t) => {
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
  })

  await t.test('helm test passes, and names the mode', async (t) => {
    await until('helm test passes', () =>
      helm(release, 'test').then(
        () => true,
        () => false,
      ),
    )
    const said = await helm(release, 'test', ['--logs'])
    t.match(said, /^ok +certificate mode +self: /m)
    t.notMatch(said, /^unknown /m)
  })

  await t.test('an upgrade and a rollback keep the Secret and caBundle', async (t) => {
    const [before, bundle] = [await current(api), await bundles(api)]
    await upgrade(release, 'webhook.timeoutSeconds=4')
    t.equal((await current(api))?.serialNumber, before?.serialNumber)
    t.strictSame(await bundles(api), bundle)
    await helm(release, 'rollback', ['1'])
    await settled(release, 2)
    t.equal((await current(api))?.serialNumber, before?.serialNumber)
    t.strictSame(await bundles(api), bundle)
  })

  /** Creates pods during an action, and checks that all have their observers. */
  const noneMissed = async (t: Test, action: () => Promise<unknown>): Promise<Tally> => {
    const tally = await during(t, api, LOAD, action)
    const { created, ...others } = tally
    t.ok(created > 0)
    t.match(others, { missed: 0, left: 0, warned: 0, refused: [] }, 'each pod has its observer')
    return tally
  }

  await t.test('no pod is missed while the Secret is deleted', async (t) => {
    await noneMissed(t, async () => {
      const before = await current(api)
      await api.delete(`${SECRETS}/${SECRET}`)
      await renewed(api, release, before)
    })
    for (const bundle of await bundles(api))
      t.equal(bundle.match(/BEGIN CERTIFICATE/g)?.length, 2, 'caBundle has the old and the new CA')
  })

  await t.test('no pod is missed while garbage in the Secret is replaced', async (t) => {
    await noneMissed(t, async () => {
      const before = await current(api)
      await api.merge(`${SECRETS}/${SECRET}`, { data: { 'tls.crt': 'Z2FyYmFnZQ==' } })
      await until('the Secret has another certificate', async () => {
        const cert = await current(api).catch(() => undefined)
        return cert !== undefined && cert.serialNumber !== before?.serialNumber
      })
      await renewed(api, release, before)
    })
  })

  await t.test('no pod is missed while the leader ends in the middle of a renewal', async (t) => {
    await noneMissed(t, async () => {
      const before = await current(api)
      await api.delete(`${SECRETS}/${SECRET}`)
      await until('a certificate is prepared', async () => {
        return (await api.get(`${SECRETS}/${SECRET}`)).body.data?.['next-tls.crt'] !== undefined
      })
      await kubectl(cluster, ['delete', 'pod', '-n', NAME, await leader(api)])
      await settled(release, 2)
      await renewed(api, release, before)
    })
  })

  await t.test('another replica completes the renewal of a killed leader', async (t) => {
    const before = await current(api)
    const killed = await leader(api)
    const { containerId = '' } =
      (await replicasOf(release)).find(({ name }) => name === killed) ?? {}
    await api.delete(`${SECRETS}/${SECRET}`)
    await until('a certificate is prepared', async () => {
      return (await api.get(`${SECRETS}/${SECRET}`)).body.data?.['next-tls.crt'] !== undefined
    })
    await killContainer(cluster, containerId)
    // While the container is started again, calls to it can fail, as in the test upheaval. With the
    // other replica, no call fails.
    await settled(release, 2)
    await noneMissed(t, () => renewed(api, release, before))
  })

  await t.test('no pod is missed while the clocks are two hours ahead', async (t) => {
    await noneMissed(t, async () => {
      await moveClock(release, true)
      const before = await current(api)
      await api.delete(`${SECRETS}/${SECRET}`)
      await renewed(api, release, before)
      const life = Date.parse((await current(api))?.validTo ?? '') - Date.now()
      t.ok(life > 4 * 3_600_000, 'the certificate was made by a clock that is ahead')
      await moveClock(release, false)
    })
  })

  await t.test('no pod is missed while the certificate is renewed every minute', async (t) => {
    const serials = new Set<string>()
    await noneMissed(t, async () => {
      await upgrade(release, SHORT)
      // The lifetime is now shorter, but the certificate in use is not too long by a day.
      await api.delete(`${SECRETS}/${SECRET}`)
      const end = performance.now() + MINUTES * 60_000
      while (performance.now() < end) {
        serials.add((await current(api))?.serialNumber ?? '')
        await sleep(1000)
      }
    })
    serials.delete('')
    t.comment(`${serials.size} certificates in ${MINUTES} minutes`)
    t.ok(serials.size >= MINUTES - 1, 'there was a new certificate in almost every minute')
  })

  await t.test('no pod is missed while cert-manager takes over, and gives it back', async (t) => {
    await upgrade(release, LONG)
    await startCertManager(t, cluster)
    await noneMissed(t, async () => {
      await upgrade(release, 'certificates.mode=cert-manager')
      await upgrade(release, 'certificates.mode=self')
    })
  })

  await t.test(
    'the commands of docs/upgrade.md leave only the current CA in caBundle',
    async (t) => {
      const { body } = await api.get(`${SECRETS}/${SECRET}`)
      const caBundle = body.data['ca.crt']
      const { webhooks } = (await api.get(`${CONFIGURATIONS}/${NAME}`)).body
      const changed = webhooks.map((webhook: Webhook) => {
        return { ...webhook, clientConfig: { ...webhook.clientConfig, caBundle } }
      })
      await api.merge(`${CONFIGURATIONS}/${NAME}`, { webhooks: changed })
      // The replicas read the configuration several times.
      await sleep(15_000)
      for (const bundle of await bundles(api)) t.equal(btoa(bundle), caBundle)
      t.match(await helm(release, 'test', ['--logs']), /^ok +certificate mode +self: /m)
    },
  )

  await t.test('helm uninstall removes the Secret', async (t) => {
    await helm(release, 'uninstall')
    t.equal((await api.get(`${SECRETS}/${SECRET}`)).status, 404)
    t.equal((await api.get(`${CONFIGURATIONS}/${NAME}`)).status, 404)
  })
})

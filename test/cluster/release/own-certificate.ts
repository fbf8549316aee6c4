import { X509Certificate } from 'node:crypto'
import type { Test } from 'tap'
import { sampleOf } from '../../webhook/server.ts'
import type { Api } from '../api.ts'
import type { Cluster } from '../machine/cluster.ts'
import { createNamespace } from '../running.ts'
import { until } from '../until.ts'
import { CONFIGURATIONS } from '../webhook.ts'
import {
  CHART,
  configurationName,
  helm,
  metricsOf,
  OWN_IMAGES,
  type Release,
  replicasOf,
} from './helm.ts'
import { settled } from './replicas.ts'
import { during } from './steady-load.ts'

export const ASKS = { 'ridealong.dev/inject': 'perf-sysstat' }

/** Pods per second. */
const RATE = 50

const EXPIRY = 'ridealong_certificate_expiry_timestamp_seconds'

/** A webhook of a MutatingWebhookConfiguration. */
export interface ConfiguredWebhook {
  readonly clientConfig: { readonly caBundle?: string }
}

/** A release whose webhook makes its own certificate. */
export interface OwnRelease {
  readonly release: Release
  /** Returns the certificate in the Secret; undefined if there is none. */
  current(): Promise<X509Certificate | undefined>
  /** Returns the caBundle of each webhook, in PEM. */
  bundles(): Promise<readonly string[]>
  /** Waits until the Secret has another certificate, and both replicas use it. */
  renewed(before: X509Certificate | undefined): Promise<void>
  /** Sets values of the release, and waits until only two replicas with these values run. */
  upgrade(...values: readonly string[]): Promise<void>
  /** Creates 50 pods a second during an action, and checks that each has its observer. */
  noneMissed(t: Test, action: () => Promise<unknown>): Promise<void>
}

/**
 * Installs the chart with certificates.mode=self until the test ends, without cert-manager. The
 * namespace has the name of the release and enforces Pod Security `restricted`. Creates the
 * namespaces `own-asking` and `own-armed` for pods.
 *
 * @param duration the lifetime of a certificate, such as 3h
 */
export async function installOwn(
  t: Test,
  cluster: Cluster,
  api: Api,
  name: string,
  duration: string,
): Promise<OwnRelease> {
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' }
  await createNamespace(t, api, name, { labels })
  await createNamespace(t, api, 'own-asking')
  await createNamespace(t, api, 'own-armed')
  const release = { cluster, name }
  t.teardown(() => helm(release, 'uninstall').catch(() => {}))
  const mode = ['--set', `certificates.mode=self,certificates.self.duration=${duration}`]
  await helm(release, 'install', [CHART, ...OWN_IMAGES, ...mode])
  const current = () => readCertificate(api, name)
  return {
    release,
    current,
    bundles: () => readBundles(api, name),
    async renewed(before) {
      await until('the Secret has a new certificate', async () => {
        const serial = (await current())?.serialNumber
        return serial !== undefined && serial !== before?.serialNumber
      })
      await until('both replicas use the certificate of the Secret', async () => {
        const ends = Date.parse((await current())?.validTo ?? '') / 1000
        const shown = await Promise.all((await replicasOf(release)).map(metricsOf))
        return shown.length === 2 && shown.every((text) => sampleOf(text, EXPIRY) === ends)
      })
    },
    async upgrade(...values) {
      const words = values.flatMap((value) => ['--set', value])
      await helm(release, 'upgrade', [CHART, '--reuse-values', ...words])
      await settled(release, 2)
    },
    noneMissed: (t, action) => checkNoneMissed(t, api, action),
  }
}

async function readCertificate(api: Api, name: string): Promise<X509Certificate | undefined> {
  const { body } = await api.get(`/api/v1/namespaces/${name}/secrets/${name}-own-tls`)
  const cert = body.data?.['tls.crt']
  return cert ? new X509Certificate(Buffer.from(cert, 'base64')) : undefined
}

async function readBundles(api: Api, name: string): Promise<readonly string[]> {
  const { webhooks } = (await api.get(`${CONFIGURATIONS}/${configurationName(name)}`)).body
  return webhooks.map(({ clientConfig }: ConfiguredWebhook) =>
    Buffer.from(clientConfig.caBundle ?? '', 'base64').toString(),
  )
}

async function checkNoneMissed(t: Test, api: Api, action: () => Promise<unknown>): Promise<void> {
  // The pods of one namespace request observers, and the other namespace requests them for all.
  const armed = await api.merge('/api/v1/namespaces/own-armed', { metadata: { annotations: ASKS } })
  t.match(armed.body.metadata.labels, { 'ridealong.dev/armed': 'true' })
  const places = [
    { namespace: 'own-asking', annotations: ASKS },
    { namespace: 'own-armed', annotations: {} },
  ]
  const { created, ...others } = await during(t, api, { places, rate: RATE }, action)
  t.ok(created > 0)
  t.match(others, { missed: 0, left: 0, warned: 0, denied: [] }, 'each pod has its observer')
}

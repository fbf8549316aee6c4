import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { makeAuthority, writeKeyPair } from '../../certs/make.ts'
import { freePorts } from '../free-ports.ts'
import { type Api, openApi } from './api.ts'
import type { Cluster } from './machine/cluster.ts'
import { type Daemon, isRunning, start, stop } from './machine/daemon.ts'
import { kubectl } from './machine/kubectl.ts'
import { renderTemplate } from './release/chart.ts'
import { until } from './until.ts'

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))
/** The path of the MutatingWebhookConfigurations in the API. */
export const CONFIGURATIONS = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations'

/** A webhook that runs as a process beside the cluster and is called by URL. */
export interface Webhook {
  readonly port: number
  readonly statusPort: number
  readonly daemon: Daemon
  /** Returns the Prometheus metrics of the webhook. */
  metrics(): Promise<string>
  /** Ends the process and keeps the configuration, so the apiserver still calls the webhook. */
  stop(): Promise<void>
  /** Ends the process and deletes the configuration. */
  remove(): Promise<void>
}

export interface WebhookOptions {
  /** More arguments for `serve`. */
  readonly words?: readonly string[]
  readonly name?: string
  /** Whether to run the output of `npm run build`, as the image does. */
  readonly built?: boolean
  /**
   * The only namespace for which the webhook is called, so that several webhooks can run at once.
   */
  readonly namespace?: string
}

/** Starts the webhook, and makes the apiserver call it with the chart's configuration. */
export async function startWebhook(
  cluster: Cluster,
  { words = [], name = 'ridealong', built = false, namespace }: WebhookOptions = {},
): Promise<Webhook> {
  const [port = 0, statusPort = 0] = await freePorts(2)
  const folder = join(cluster.folder, name)
  const authority = await makeAuthority()
  await writeKeyPair(folder, authority, { names: ['localhost', '127.0.0.1'] })
  const daemon = start(
    cluster.folder,
    process.execPath,
    [
      join(REPOSITORY, built ? 'dist/ridealong.cjs' : 'cli/main.ts'),
      ...['serve', '--kubeconfig', cluster.kubeconfig, '--drain-quiet', '0'],
      ...['--cert', join(folder, 'tls.crt'), '--key', join(folder, 'tls.key')],
      ...['--host', '127.0.0.1', '--port', `${port}`, '--status-port', `${statusPort}`],
      ...words,
    ],
    name,
  )
  const api = await openApi(cluster)
  const status = (path: string) => fetch(`http://127.0.0.1:${statusPort}${path}`)
  await until('the webhook is ready', async () => {
    if (!isRunning(daemon)) throw new Error(`the webhook ended; see its log in ${cluster.folder}`)
    return (await status('/readyz').catch(() => undefined))?.ok === true
  })
  const url = `https://127.0.0.1:${port}`
  await configure(cluster, api, { name, ca: authority.ca, url, namespace })
  return {
    port,
    statusPort,
    daemon,
    metrics: async () => (await status('/metrics')).text(),
    stop: () => stop(daemon),
    remove: async () => {
      await api.delete(`${CONFIGURATIONS}/${name}`)
      api.close()
      await stop(daemon)
    },
  }
}

interface Called {
  readonly name: string
  readonly ca: string
  readonly url: string
  readonly namespace?: string | undefined
}

/**
 * Makes the apiserver call a server with the webhook configuration of the chart, in which a URL
 * replaces the Service. Waits until the apiserver calls the server.
 */
export async function configure(
  cluster: Cluster,
  api: Api,
  { name, ca, url, namespace }: Called,
): Promise<void> {
  const file = 'webhook-configuration'
  const [configuration] = await renderTemplate(file, [
    ...['--set', `fullnameOverride=${name},webhook.configurationName=${name}`],
  ])
  const caBundle = Buffer.from(ca).toString('base64')
  const only = namespace && [{ key: NAME_LABEL, operator: 'In', values: [namespace] }]
  const webhooks = configuration.webhooks.map((webhook: ConfiguredWebhook) => {
    const { clientConfig, namespaceSelector } = webhook
    const matchExpressions = [...namespaceSelector.matchExpressions, ...(only || [])]
    return {
      ...webhook,
      clientConfig: { url: `${url}${clientConfig.service.path}`, caBundle },
      namespaceSelector: { ...namespaceSelector, matchExpressions },
    }
  })
  await kubectl(cluster, ['apply', '-f', '-'], JSON.stringify({ ...configuration, webhooks }))
  // The apiserver reads configurations from a watch, so they take effect with a delay.
  await until('the apiserver calls the webhook', async () => {
    const path = `/api/v1/namespaces/${namespace ?? 'default'}/pods?dryRun=All`
    const { body } = await api.post(path, PROBE)
    return body.metadata?.annotations?.['ridealong.dev/status'] !== undefined
  })
}

/** The label that the apiserver sets on every namespace. */
const NAME_LABEL = 'kubernetes.io/metadata.name'

interface ConfiguredWebhook {
  readonly clientConfig: { readonly service: { readonly path: string } }
  readonly namespaceSelector: { readonly matchExpressions: readonly object[] }
}

/** A pod for dry runs. It gets its observer unless its namespace prevents the injection. */
const PROBE = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'probe', annotations: { 'ridealong.dev/inject': 'perf-sysstat' } },
  spec: { containers: [{ name: 'probe', image: 'probe' }] },
}

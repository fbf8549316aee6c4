import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { makeAuthority, writeKeyPair } from '../../../certs/make.ts'
import type { Api } from '../../cluster/api.ts'
import type { Cluster } from '../../cluster/machine/cluster.ts'
import { type Daemon, isRunning, start, stop } from '../../cluster/machine/daemon.ts'
import { kubectl } from '../../cluster/machine/kubectl.ts'
import { renderTemplate } from '../../cluster/release/chart.ts'
import { until } from '../../cluster/until.ts'
import { freePorts } from '../../free-ports.ts'
import { createMemoryGroup, reasonToSkipGroups } from '../../observers/large/memory-group.ts'
import type { Defer } from './ending.ts'
import { enterPod } from './enter-pod.ts'
import { succeeded } from './patient-api.ts'

const MAIN = fileURLToPath(new URL('../../../dist/ridealong.cjs', import.meta.url))

export const NAME = 'ridealong'
export const NAMESPACE = 'ridealong-system'
/** The name of the webhook's service account in the audit log. */
export const USER = `system:serviceaccount:${NAMESPACE}:${NAME}`

/** Without the image holders, whose pods a simulated node cannot run truly. */
const VALUES = ['--set', `fullnameOverride=${NAME},imageHolder.enabled=false`]

/** The memory limit of the chart. */
const MEMORY_LIMIT = 512 * 1024 ** 2

/**
 * The longest time between two scans, in seconds. With the default of the chart, a measurement
 * would have too few scans.
 */
export const SCAN_SECONDS = 30

/** A replica of the webhook, which runs as a process on this machine. */
export interface RunningReplica {
  readonly port: number
  readonly daemon: Daemon
  /** The time from its start until it was ready, in seconds. */
  readonly startSeconds: number
  metrics(): Promise<string>
  /** Returns the highest memory use of its cgroup in MiB; undefined without a cgroup. */
  peak(): number | undefined
  stop(): Promise<void>
}

/** The chart in a cluster, with replicas outside of the cluster. */
export interface Installation {
  /** The certificate of the authority that signed the replicas' certificate, in PEM. */
  readonly ca: string
  readonly replicas: readonly RunningReplica[]
  /** Starts one more replica, which the apiserver does not call, and waits until it is ready. */
  startReplica(): Promise<RunningReplica>
}

/**
 * Installs the objects of the chart, and starts two replicas with exactly the rights of the chart's
 * service account. The apiserver calls them through the chart's Service, as in a real cluster.
 */
export async function install(cluster: Cluster, api: Api, defer: Defer): Promise<Installation> {
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } }
  succeeded(await api.post('/api/v1/namespaces', namespace))
  const templates = ['service-account', 'rbac', 'arming', 'scan']
  const objects = await Promise.all(templates.map((file) => renderTemplate(file, VALUES)))
  await apply(cluster, objects.flat())
  const folder = join(cluster.folder, NAME)
  const authority = await makeAuthority()
  const names = [`${NAME}.${NAMESPACE}.svc`, '127.0.0.1', 'localhost']
  await writeKeyPair(folder, authority, { names })
  const enter = await enterPod(cluster, folder, { namespace: NAMESPACE, name: NAME })
  const startReplica = async () => {
    const replica = await launch(cluster, folder, enter)
    defer(replica.stop)
    return replica
  }
  const replicas = [await startReplica(), await startReplica()]
  await apply(cluster, serviceOf(replicas.map(({ port }) => port)))
  await apply(cluster, await configurationOf(authority.ca))
  await until('the apiserver calls the webhook', () => isCalled(api))
  return { ca: authority.ca, replicas, startReplica }
}

function apply(cluster: Cluster, items: readonly object[]): Promise<string> {
  const list = { apiVersion: 'v1', kind: 'List', items }
  return kubectl(cluster, ['apply', '-f', '-'], JSON.stringify(list))
}

let started = 0

async function launch(cluster: Cluster, folder: string, enter: string): Promise<RunningReplica> {
  const [port = 0, statusPort = 0] = await freePorts(2)
  const group = reasonToSkipGroups() === false ? createMemoryGroup(MEMORY_LIMIT) : undefined
  started += 1
  const begin = performance.now()
  const daemon = start(
    cluster.folder,
    'unshare',
    [
      ...['--mount', 'sh', '-c', `${group?.join ?? ':'}; ${enter} && exec "$@"`, 'sh'],
      ...[process.execPath, MAIN, 'serve', '--drain-quiet', '0'],
      ...['--cert', join(folder, 'tls.crt'), '--key', join(folder, 'tls.key')],
      ...['--host', '0.0.0.0', '--port', `${port}`, '--status-port', `${statusPort}`],
      ...['--scan-lease', `${NAMESPACE}/${NAME}-scan`, '--scan-interval', `${SCAN_SECONDS}`],
    ],
    `replica-${started}`,
  )
  const status = (path: string) => fetch(`http://127.0.0.1:${statusPort}${path}`)
  await until('a replica is ready', async () => {
    if (!isRunning(daemon)) throw new Error(`a replica ended; see its log in ${cluster.folder}`)
    return (await status('/readyz').catch(() => undefined))?.ok === true
  })
  let ended: Promise<void> | undefined
  return {
    port,
    daemon,
    startSeconds: (performance.now() - begin) / 1000,
    metrics: async () => (await status('/metrics')).text(),
    peak: () => group && group.peak() / 1024 ** 2,
    stop: () => {
      ended ??= stop(daemon).then(() => group?.remove())
      return ended
    },
  }
}

/** Returns a Service of the chart's name, and an EndpointSlice for each replica's port. */
function serviceOf(ports: readonly number[]): readonly object[] {
  const name = 'https'
  const slices = ports.map((port, index) => ({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: `${NAME}-${index}`,
      namespace: NAMESPACE,
      labels: { 'kubernetes.io/service-name': NAME },
    },
    addressType: 'IPv4',
    endpoints: [{ addresses: [addressOfMachine()], conditions: { ready: true } }],
    ports: [{ name, port, protocol: 'TCP' }],
  }))
  const metadata = { name: NAME, namespace: NAMESPACE }
  const spec = { ports: [{ name, port: 443 }] }
  return [{ apiVersion: 'v1', kind: 'Service', metadata, spec }, ...slices]
}

/** Returns an address of this machine. An EndpointSlice may not contain a loopback address. */
function addressOfMachine(): string {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])
  const found = all.find(({ family, internal }) => family === 'IPv4' && !internal)
  if (found === undefined) throw new Error('this machine has no IPv4 address except loopback')
  return found.address
}

interface Rendered {
  readonly clientConfig: object
}

async function configurationOf(ca: string): Promise<readonly object[]> {
  const caBundle = Buffer.from(ca).toString('base64')
  const objects = await renderTemplate('webhook-configuration', VALUES)
  return objects.map((object) => ({
    ...object,
    webhooks: object.webhooks.map((webhook: Rendered) => ({
      ...webhook,
      clientConfig: { ...webhook.clientConfig, caBundle },
    })),
  }))
}

async function isCalled(api: Api): Promise<boolean> {
  const { body } = await api.post('/api/v1/namespaces/default/pods?dryRun=All', {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'probe', annotations: { 'ridealong.dev/inject': 'perf-sysstat' } },
    spec: { containers: [{ name: 'probe', image: 'probe' }] },
  })
  return body.metadata?.annotations?.['ridealong.dev/status'] !== undefined
}

import { findCluster } from '../../../../src/cluster/access.ts'
import type { Access } from '../../../../src/cluster/cluster.ts'
import { type Api, openApi } from '../../../cluster/api.ts'
import {
  type Cluster,
  down,
  find,
  type Kind,
  MINORS,
  up,
} from '../../../cluster/machine/cluster.ts'
import { type Daemon, stop } from '../../../cluster/machine/daemon.ts'
import { freePorts } from '../../../free-ports.ts'
import { until } from '../../../until.ts'
import type { Defer } from '../ending.ts'
import { patient, succeeded } from '../patient-api.ts'
import { createNodes, NODE_GRACE, startKwok } from '../simulated-nodes.ts'
import { installArchive } from './archive-process.ts'
import { BYSTANDERS } from './bystanders.ts'
import { COMPACTION_SECONDS } from './etcd-size.ts'
import { type BystanderCost, measureBystanders } from './measure-bystanders.ts'
import { type MeasuredRuns, measureRuns } from './measure-runs.ts'
import { NAMESPACES, NODES, observerStage } from './observed-jobs.ts'

export interface Measurement {
  readonly runs: MeasuredRuns
  readonly bystanders: BystanderCost
}

/** The numbers of objects of a measurement. */
export interface Size {
  readonly runs: number
  /** The number of pods of the large run. */
  readonly large: number
  /** The number of pods without observers. */
  readonly bystanders: number
}

/** A cluster with simulated nodes. */
export interface Plane {
  readonly cluster: Cluster
  readonly api: Api
  readonly access: Access
  readonly kwok: Daemon
  /** The URL of the metrics of etcd. */
  readonly etcd: string
}

export type Say = (line: string) => void

/** The size at which etcd stops writing, in bytes. The default would be too small. */
const ETCD_QUOTA = 16 * 1024 ** 3
const CLUSTER: Kind = { minor: MINORS[0], hasNode: false }

/**
 * Measures an archive in a cluster that is started for this measurement.
 *
 * @param defer registers the actions that end everything, in reverse order
 * @throws an error if a cluster of the tests is already running
 */
export async function measure(size: Size, say: Say, defer: Defer): Promise<Measurement> {
  const plane = await startPlane(say, defer)
  const runs = await measureRuns(plane, size, say, defer)
  return { runs, bystanders: await measureBystanders(plane, size.bystanders, say, defer) }
}

async function startPlane(say: Say, defer: Defer): Promise<Plane> {
  if ((await find(CLUSTER)) !== undefined)
    throw new Error('a cluster is already running; end it with: npm run cluster -- down --no-node')
  const [port = 0] = await freePorts(1)
  const etcd = `http://127.0.0.1:${port}`
  defer(() => down(CLUSTER, say))
  const cluster = await up(CLUSTER, say, programFlags(etcd))
  const plain = await openApi(cluster)
  defer(async () => plain.close())
  const api = patient(plain)
  const kwok = await startKwok(cluster, say, observerStage())
  defer(() => stop(kwok))
  await createNodes(api, NODES)
  for (const name of [...NAMESPACES, BYSTANDERS]) await createNamespace(api, name)
  await installArchive(cluster)
  const access = await findCluster({ kubeconfig: cluster.kubeconfig, environment: {} })
  if (access === undefined) throw new Error('there is no cluster')
  return { cluster, api, access, kwok, etcd }
}

/** Events expire soon, because they are stored in etcd like the Runs, whose size is measured. */
function programFlags(etcdMetrics: string) {
  return {
    etcd: { 'quota-backend-bytes': ETCD_QUOTA, 'listen-metrics-urls': etcdMetrics },
    apiserver: { 'event-ttl': '30s', 'etcd-compaction-interval': `${COMPACTION_SECONDS}s` },
    controllerManager: { 'node-monitor-grace-period': NODE_GRACE },
  }
}

async function createNamespace(api: Api, name: string): Promise<void> {
  const object = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } }
  succeeded(await api.post('/api/v1/namespaces', object))
  await until(`namespace ${name} has a service account`, async () => {
    return (await api.get(`/api/v1/namespaces/${name}/serviceaccounts/default`)).status === 200
  })
}

import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePorts } from '../../free-ports.ts'
import * as controlPlane from './control-plane.ts'
import { type Daemon, isRunning, stop } from './daemon.ts'
import { kubectl } from './kubectl.ts'
import * as node from './node.ts'
import { writeCredentials } from './pki.ts'
import { kubernetesVersion, tools } from './tools.ts'

/** Minor versions of Kubernetes that can be run. Each has a module in test/cluster/go. */
export const MINORS = ['1.36', '1.30'] as const
export type Minor = (typeof MINORS)[number]

/** The kind of a cluster. There is at most one cluster of each kind. */
export interface Kind {
  readonly minor: Minor
  /** Whether pods run. Without a node, pods are only admitted. */
  readonly hasNode: boolean
  /** The containerd of the node; by default, that of this machine. */
  readonly containerd?: Containerd | undefined
}

/**
 * The containerd of this machine, which may be too old for image volumes, or version 2 from the
 * module containerd-2 in test/cluster/go.
 */
export const CONTAINERDS = ['machine', '2'] as const
export type Containerd = (typeof CONTAINERDS)[number]

/** Receives a line for each step and each wait. */
export type Say = (line: string) => void

/** A running cluster. */
export interface Cluster {
  readonly folder: string
  readonly version: string
  readonly kubeconfig: string
  /** The folder with the programs of Kubernetes. */
  readonly programs: string
  readonly hasNode: boolean
  /** The folder with the programs of containerd; undefined for those of this machine. */
  readonly containerd: string | undefined
  readonly daemons: readonly Daemon[]
}

/** Returns the folder of all files of a cluster. */
function folderOf({ minor, hasNode }: Kind): string {
  return join(tmpdir(), `ridealong-cluster-${minor}${hasNode ? '' : '-plane'}`)
}

/** Returns the cluster that `up` has started; undefined if there is none. */
export async function find(kind: Kind): Promise<Cluster | undefined> {
  const text = await readFile(join(folderOf(kind), 'cluster.json'), 'utf8').catch(() => undefined)
  return text === undefined ? undefined : JSON.parse(text)
}

/**
 * Starts a cluster on loopback and waits until the cluster is ready. A cluster of this kind that
 * already runs is returned instead, unless it has another containerd than the kind names.
 *
 * @param flags more flags of the control plane's programs
 * @throws an error with the name of the program that did not start, and the end of its log.
 * All started programs are then ended.
 */
export async function up(
  kind: Kind,
  say: Say,
  flags?: controlPlane.ProgramFlags,
): Promise<Cluster> {
  const { minor, hasNode } = kind
  const containerd = await containerdOf(kind, say)
  const reused = await reuse(kind, containerd, say)
  if (reused !== undefined) return reused
  if (hasNode && (await node.isNodeAlready())) {
    throw new Error('this machine is already a node of another Kubernetes cluster')
  }
  const programs = await programsOf(minor, say)
  const etcd = await tools('etcd', say)
  const folder = folderOf(kind)
  await mkdir(folder, { recursive: true })
  const cluster: Cluster = {
    folder,
    version: await kubernetesVersion(`kubernetes-${minor}`),
    kubeconfig: join(folder, 'pki', 'admin.kubeconfig'),
    programs,
    hasNode,
    containerd,
    daemons: [],
  }
  try {
    const running = await startControlPlane(cluster, { etcd, flags }, say)
    return hasNode ? await startNode(running, say) : running
  } catch (error) {
    await down(kind, say)
    throw error
  }
}

/** Returns the folder with the programs of containerd; undefined for those of this machine. */
async function containerdOf({ hasNode, containerd }: Kind, say: Say): Promise<string | undefined> {
  return hasNode && containerd === '2' ? await tools('containerd-2', say) : undefined
}

/** Returns the cluster that runs, if it is as the kind says; otherwise ends its remains. */
async function reuse(
  kind: Kind,
  containerd: string | undefined,
  say: Say,
): Promise<Cluster | undefined> {
  const found = await find(kind)
  if (found === undefined) return undefined
  const isSame = kind.containerd === undefined || found.containerd === containerd
  if (isSame && found.daemons.every(isRunning)) return found
  await down(kind, say)
  return undefined
}

/**
 * Returns the folder with the programs of a version, and builds the programs if they are missing.
 * The environment variable KUBEBUILDER_ASSETS is a convention of controller-runtime's envtest. It
 * can name a folder that already contains the programs of the first of the MINORS.
 */
export async function programsOf(minor: Minor, say: Say): Promise<string> {
  const assets = process.env.KUBEBUILDER_ASSETS
  const isThere = assets !== undefined && existsSync(join(assets, 'kubelet'))
  return isThere && minor === MINORS[0] ? assets : tools(`kubernetes-${minor}`, say)
}

async function startControlPlane(
  cluster: Cluster,
  { etcd, flags }: Pick<controlPlane.ControlPlane, 'etcd' | 'flags'>,
  say: Say,
): Promise<Cluster> {
  const { folder, programs, hasNode } = cluster
  const [first, ...others] = await freePorts(5)
  const [etcdPeer, apiserver, controllerManager, scheduler] = others
  const ports = { etcd: first, etcdPeer, apiserver, controllerManager, scheduler }
  const address = hasNode ? node.HOST_ADDRESS : '127.0.0.1'
  const plane = { folder, etcd, programs, ports: ports as controlPlane.Ports, address, flags }
  const server = `https://127.0.0.1:${apiserver}`
  const addresses = ['127.0.0.1', controlPlane.SERVICE_ADDRESS, node.HOST_ADDRESS]
  await writeCredentials(join(folder, 'pki'), server, addresses)
  say(`starting etcd and Kubernetes ${cluster.version}`)
  let running = await noted(cluster, controlPlane.startEtcd(plane))
  running = await noted(running, controlPlane.startApiserver(plane))
  say('waiting for the apiserver')
  await until(running, 'kube-apiserver', () => kubectl(running, ['get', '--raw', '/readyz']))
  running = await noted(running, controlPlane.startControllerManager(plane))
  running = await noted(running, controlPlane.startScheduler(plane))
  say('waiting for the controllers')
  await until(running, 'kube-controller-manager', () =>
    kubectl(running, ['get', 'serviceaccount', 'default', '-n', 'default']),
  )
  return running
}

async function startNode(cluster: Cluster, say: Say): Promise<Cluster> {
  const { folder, programs, version, containerd } = cluster
  const [kubelet = 0, metrics = 0, healthz = 0] = await freePorts(3)
  const ports = { kubelet, metrics, healthz }
  const here = { folder, programs, version, ports, containerd }
  say('starting containerd, the kubelet and kube-proxy')
  let running = await noted(cluster, await node.startContainerd(here))
  await until(running, 'containerd', async () => {
    if (!existsSync(node.containerdSocket(folder))) throw new Error('no socket yet')
  })
  running = await noted(running, await node.startKubelet(here))
  running = await noted(running, node.startProxy(here))
  await until(running, 'kube-proxy', () => answered(`http://127.0.0.1:${healthz}/healthz`))
  say('waiting for the node')
  await until(running, 'kubelet', () =>
    kubectl(running, ['wait', '--for=condition=Ready', 'node/localhost', '--timeout=1s']),
  )
  return running
}

/** Stores a daemon's process id right after its start, so that the daemon can always be ended. */
async function noted(cluster: Cluster, daemon: Daemon): Promise<Cluster> {
  const running = { ...cluster, daemons: [...cluster.daemons, daemon] }
  const path = join(cluster.folder, 'cluster.json')
  await writeFile(`${path}.new`, JSON.stringify(running, undefined, 2))
  await rename(`${path}.new`, path)
  return running
}

const PATIENCE_MS = 300_000

/** Waits for a condition. Throws after PATIENCE_MS, or if the daemon `name` has ended. */
async function until(
  { daemons, folder }: Cluster,
  name: string,
  attempt: () => Promise<unknown>,
): Promise<void> {
  const end = performance.now() + PATIENCE_MS
  const daemon = daemons.find((one) => one.name === name)
  for (;;) {
    const failure = await attempt().then(() => undefined, String)
    if (failure === undefined) return
    const isOver = daemon === undefined || !isRunning(daemon)
    if (isOver) throw new Error(`${name} ended:\n${await lastOf(folder, name)}`)
    if (performance.now() > end) {
      throw new Error(`${name} is not ready: ${failure}\n${await lastOf(folder, name)}`)
    }
    await sleep(200)
  }
}

async function answered(url: string): Promise<void> {
  const { ok, status } = await fetch(url)
  if (!ok) throw new Error(`HTTP ${status}`)
}

/** Returns the last lines of a daemon's log. */
async function lastOf(folder: string, name: string): Promise<string> {
  const log = await readFile(join(folder, 'logs', `${name}.log`), 'utf8').catch(() => '')
  return log.trimEnd().split('\n').slice(-12).join('\n')
}

/** Ends the processes that `up` started, in reverse order, and removes their files. */
export async function down(kind: Kind, say: Say): Promise<void> {
  const cluster = await find(kind)
  if (cluster === undefined)
    return say(`no Kubernetes ${kind.minor} ${kind.hasNode ? 'with' : 'without'} a node is running`)
  if (cluster.hasNode) {
    say('ending the pods')
    await endPods(cluster)
  }
  say('ending the processes')
  for (const daemon of cluster.daemons.toReversed()) await stop(daemon)
  if (cluster.hasNode) await node.cleanNode(cluster.folder, cluster.programs)
  await rm(cluster.folder, { recursive: true, force: true })
}

/**
 * Deletes all workloads and pods, so that the kubelet ends the pods. Pods that do not end in time
 * are killed later.
 */
async function endPods(cluster: Cluster): Promise<void> {
  const all = ['--all', '--all-namespaces', '--wait=false']
  const kinds = 'cronjobs,jobs,deployments,statefulsets,daemonsets,replicasets'
  await kubectl(cluster, ['delete', kinds, ...all]).catch(() => {})
  const pods = ['delete', 'pods', '--all', '--all-namespaces', '--grace-period=1']
  await kubectl(cluster, [...pods, '--timeout=30s']).catch(() => {})
}

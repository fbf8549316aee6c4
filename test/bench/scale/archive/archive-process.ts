import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Cluster } from '../../../cluster/machine/cluster.ts'
import { type Daemon, isRunning, start, stop } from '../../../cluster/machine/daemon.ts'
import { kubectl } from '../../../cluster/machine/kubectl.ts'
import { renderTemplate } from '../../../cluster/release/chart.ts'
import { until } from '../../../cluster/until.ts'
import { freePorts } from '../../../free-ports.ts'
import { createMemoryGroup, reasonToSkipGroups } from '../../../observers/large/memory-group.ts'
import { type Account, enterPod } from '../enter-pod.ts'

const MAIN = fileURLToPath(new URL('../../../../dist/ridealong.cjs', import.meta.url))

const ARCHIVE: Account = { namespace: 'ridealong-system', name: 'ridealong-archive' }
const VALUES = ['--set', 'fullnameOverride=ridealong,archive.enabled=true']

/** The memory limit of the chart. */
const MEMORY_LIMIT = 768 * 1024 ** 2

/** An archive, which runs as a process on this machine. */
export interface RunningArchive {
  readonly daemon: Daemon
  /** Returns its Prometheus metrics. */
  metrics(): Promise<string>
  /** Returns the highest resident memory since it has started, in MiB. */
  peak(): number
  stop(): Promise<void>
}

/** Creates the objects of the chart that an archive needs. */
export async function installArchive(cluster: Cluster): Promise<void> {
  await kubectl(cluster, ['create', 'namespace', ARCHIVE.namespace])
  const files = ['archive/definition', 'archive/rbac']
  const items = (await Promise.all(files.map((file) => renderTemplate(file, VALUES)))).flat()
  const objects = items.filter((object) => object !== null)
  const list = { apiVersion: 'v1', kind: 'List', items: objects }
  await kubectl(cluster, ['apply', '-f', '-'], JSON.stringify(list))
  await kubectl(cluster, ['wait', '--for=condition=established', 'crd/runs.ridealong.dev'])
}

let started = 0

/**
 * Starts an archive with the rights and the memory limit of the chart, and waits until it is ready.
 *
 * @param maxRuns the value `archive.retention.maxRuns` of the chart
 */
export async function startArchive(cluster: Cluster, maxRuns: number): Promise<RunningArchive> {
  started += 1
  const name = `archive-${started}`
  const folder = join(cluster.folder, name)
  mkdirSync(folder)
  const enter = await enterPod(cluster, folder, ARCHIVE)
  const [port = 0] = await freePorts(1)
  const group = reasonToSkipGroups() === false ? createMemoryGroup(MEMORY_LIMIT) : undefined
  const daemon = start(
    cluster.folder,
    'unshare',
    [
      ...['--mount', 'sh', '-c', `${group?.join ?? ':'}; ${enter} && exec "$@"`, 'sh'],
      ...[process.execPath, MAIN, 'archive', '--keep-runs', `${maxRuns}`],
      ...['--host', '127.0.0.1', '--status-port', `${port}`],
    ],
    name,
  )
  const status = (path: string) => fetch(`http://127.0.0.1:${port}${path}`)
  await until('the archive is ready', async () => {
    if (!isRunning(daemon)) throw new Error(`the archive ended; see its log in ${cluster.folder}`)
    return (await status('/readyz').catch(() => undefined))?.ok === true
  })
  let ended: Promise<void> | undefined
  return {
    daemon,
    metrics: async () => (await status('/metrics')).text(),
    peak: () => readPeak(daemon.pid),
    stop: () => {
      ended ??= stop(daemon).then(() => group?.remove())
      return ended
    },
  }
}

/** Returns the highest resident memory of a process, in MiB (proc(5), VmHWM). */
function readPeak(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024
}

import type { Cluster } from '../machine/cluster.ts'
import { kubectl } from '../machine/kubectl.ts'
import { containerdSocket } from '../machine/node.ts'
import { run } from '../machine/tools.ts'
import { until } from '../until.ts'
import { type Release, replicasOf } from './helm.ts'

/** Waits until as many replicas are there as wanted, and those that left have ended. */
export function settled(release: Release, count: number): Promise<void> {
  return until(`${count} replicas run`, async () => {
    const replicas = await replicasOf(release)
    return replicas.length === count && replicas.every(({ isReady }) => isReady)
  })
}

/** Has a release run as many replicas as wanted, and waits until it does. */
export async function scale(release: Release, count: number): Promise<void> {
  const { cluster, name } = release
  await kubectl(cluster, ['scale', `deployment/${name}`, '-n', name, `--replicas=${count}`])
  await settled(release, count)
}

/** Ends a container at once, as the kernel does when memory is short. */
export async function killContainer(cluster: Cluster, containerId: string): Promise<void> {
  const ctr = ['--address', containerdSocket(cluster.folder), '-n', 'k8s.io']
  await run('ctr', [...ctr, 'tasks', 'kill', '--signal', 'SIGKILL', containerId])
}

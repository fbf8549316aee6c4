import type { Cluster } from '../machine/cluster.ts'
import { kubectl } from '../machine/kubectl.ts'
import { containerdSocket } from '../machine/node.ts'
import { run } from '../machine/tools.ts'
import { until } from '../until.ts'
import { type Release, replicasOf } from './helm.ts'

/** Waits until the wanted number of replicas is ready and all others have ended. */
export function settled(release: Release, count: number): Promise<void> {
  return until(`${count} replicas run`, async () => {
    const replicas = await replicasOf(release)
    return replicas.length === count && replicas.every(({ isReady }) => isReady)
  })
}

/** Scales a release, and waits until the wanted number of replicas is ready. */
export async function scale(release: Release, count: number): Promise<void> {
  const { cluster, name } = release
  await kubectl(cluster, ['scale', `deployment/${name}`, '-n', name, `--replicas=${count}`])
  await settled(release, count)
}

/** Kills a container, as the kernel does when memory is short. */
export async function killContainer(cluster: Cluster, containerId: string): Promise<void> {
  const ctr = ['--address', containerdSocket(cluster.folder), '-n', 'k8s.io']
  await run('ctr', [...ctr, 'tasks', 'kill', '--signal', 'SIGKILL', containerId])
}

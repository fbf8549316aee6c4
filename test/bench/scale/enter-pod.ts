import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Cluster } from '../../cluster/machine/cluster.ts'
import { kubeconfigOf } from '../../cluster/release/doctor-rights.ts'

/** A service account of the chart. */
export interface Account {
  readonly namespace: string
  readonly name: string
}

/**
 * Returns a shell command that gives the shell the environment and the mounted service account of a
 * container in a pod. With a kubeconfig, a program would load a library that no pod of the chart
 * loads.
 *
 * @param folder the folder for the files of the service account
 */
export async function enterPod(
  cluster: Cluster,
  folder: string,
  { namespace, name }: Account,
): Promise<string> {
  const config = JSON.parse(await kubeconfigOf(cluster, namespace, name))
  const { server, 'certificate-authority-data': ca } = config.clusters[0].cluster
  const { hostname, port } = new URL(server)
  const account = join(folder, 'serviceaccount')
  mkdirSync(account, { recursive: true })
  writeFileSync(join(account, 'ca.crt'), Buffer.from(ca, 'base64'))
  writeFileSync(join(account, 'token'), config.users[0].user.token)
  writeFileSync(join(account, 'namespace'), namespace)
  return [
    `unset KUBECONFIG; export KUBERNETES_SERVICE_HOST=${hostname} KUBERNETES_SERVICE_PORT=${port}`,
    'mount -t tmpfs none /run && mkdir -p /run/secrets/kubernetes.io',
    `ln -s ${account} /var/run/secrets/kubernetes.io/serviceaccount`,
  ].join(' && ')
}

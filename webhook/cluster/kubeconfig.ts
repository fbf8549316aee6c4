import { existsSync } from 'node:fs'
import type { KubeConfig } from '@kubernetes/client-node'

/** Where the kubelet mounts the token of a pod's service account. */
const TOKEN = '/var/run/secrets/kubernetes.io/serviceaccount/token'

const NO_CLUSTER =
  'no cluster to watch: neither --kubeconfig nor KUBECONFIG names a file, and this is no pod with a ' +
  'service account; --namespaces FILE serves without a cluster'

/**
 * Finds the cluster and the credentials for it: `--kubeconfig`, else KUBECONFIG, else those that
 * every pod has. The library is loaded here and nowhere else: it takes 90 MB, which a server without
 * a cluster need not have.
 *
 * @throws an error that says what is missing, or names the file which does not hold
 */
export async function findCluster(path: string | undefined): Promise<KubeConfig> {
  const { KubeConfig } = await import('@kubernetes/client-node')
  const found = new KubeConfig()
  const { KUBECONFIG, KUBERNETES_SERVICE_HOST } = process.env
  if (path !== undefined) read(path, () => found.loadFromFile(path))
  else if (KUBECONFIG) read(KUBECONFIG, () => found.loadFromDefault())
  else if (KUBERNETES_SERVICE_HOST && existsSync(TOKEN)) found.loadFromCluster()
  else throw new Error(NO_CLUSTER)
  const server = found.getCurrentCluster()?.server
  const where = path ?? KUBECONFIG ?? 'the environment'
  if (server === undefined) throw new Error(`${where} names no cluster as its current context`)
  if (!server.startsWith('https://'))
    throw new Error(`${where}: ${server} must begin with https://`)
  return found
}

function read(path: string, load: () => void): void {
  try {
    load()
  } catch (error) {
    const [sentence] = (error instanceof Error ? error.message : String(error)).split('\n')
    throw new Error(`${path} holds no kubeconfig: ${sentence}`)
  }
}

import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { RequestOptions } from 'node:https'
import { isIPv6 } from 'node:net'
import { join } from 'node:path'
import { readKubeconfig } from './kubeconfig.ts'

/** Where an apiserver is, and what opens it. */
export interface Access {
  readonly server: string
  /** What the next call carries: the authority, and a token or a certificate. They are renewed. */
  credentials(): Promise<RequestOptions>
}

/** Where the kubelet mounts the token of a pod's service account, and the authority. */
const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'

const NO_CLUSTER =
  'no cluster to watch: neither --kubeconfig nor KUBECONFIG names a file, and this is no pod with a ' +
  'service account; --namespaces FILE serves without a cluster'

/**
 * Finds the cluster: that of `--kubeconfig`, else of KUBECONFIG, else the one around this pod.
 *
 * @throws an error that says what is missing, or names the file which does not hold
 */
export async function findCluster(
  kubeconfig: string | undefined,
  serviceAccount = SERVICE_ACCOUNT,
): Promise<Access> {
  const { KUBECONFIG, KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = process.env
  const path = kubeconfig ?? (KUBECONFIG || undefined)
  if (path !== undefined) return readKubeconfig(path)
  const isPod = host && port && existsSync(join(serviceAccount, 'token'))
  if (!isPod) throw new Error(NO_CLUSTER)
  const server = `https://${isIPv6(host) ? `[${host}]` : host}:${port}`
  return { server, credentials: () => readServiceAccount(serviceAccount) }
}

/**
 * The token and the authority as they are now: the kubelet replaces a token within its hour
 * (kubernetes.io/docs/tasks/run-application/access-api-from-pod). Reading them takes no library;
 * @kubernetes/client-node would cost every replica 50 MB and half a second.
 */
async function readServiceAccount(folder: string): Promise<RequestOptions> {
  const read = (name: string) => readFile(join(folder, name), 'utf8')
  const [ca, token] = await Promise.all([read('ca.crt'), read('token')])
  return { ca, agent: false, headers: { authorization: `Bearer ${token.trim()}` } }
}

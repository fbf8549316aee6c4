import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { RequestOptions } from 'node:https'
import { isIPv6 } from 'node:net'
import { delimiter, join } from 'node:path'
import type { Cluster } from './cluster.ts'
import { readKubeconfig } from './kubeconfig.ts'

/** The options of a command line that name a cluster. */
export interface ClusterName {
  readonly kubeconfig?: string | undefined
  /** The context of the kubeconfig to use, instead of its current context. */
  readonly context?: string | undefined
}

export interface ClusterOptions extends ClusterName {
  /**
   * Whether ~/.kube/config may be read. kubectl reads this file, but a server uses a kubeconfig
   * only if `--kubeconfig` or KUBECONFIG names it.
   */
  readonly mayReadHome?: boolean
  /** The environment variables of the command. */
  readonly environment: NodeJS.ProcessEnv
}

/**
 * The folder in which the kubelet mounts the token of a pod's service account and the CA
 * certificate.
 */
const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'

/**
 * Finds the cluster in the same order as kubectl (client-go tools/clientcmd/loader.go):
 * `--kubeconfig`, the files that KUBECONFIG lists, ~/.kube/config, and last the cluster of the pod
 * in which this process runs.
 *
 * @returns undefined if no cluster is configured
 * @throws an error that names the invalid file
 */
export async function findCluster(
  options: ClusterOptions,
  serviceAccount = SERVICE_ACCOUNT,
): Promise<Cluster | undefined> {
  const files = listKubeconfigs(options)
  if (files.length > 0) return readKubeconfig(files, options.context)
  const server = serverAround(options, serviceAccount)
  if (server === undefined) return undefined
  const namespace = await readFile(join(serviceAccount, 'namespace'), 'utf8').catch(() => undefined)
  const credentials = () => readServiceAccount(serviceAccount)
  return { server, source: serviceAccount, namespace, credentials }
}

/** Reports whether a cluster is configured. The configuration may still be invalid. */
export function hasCluster(options: ClusterOptions): boolean {
  const isNamed = listKubeconfigs(options).length > 0
  return isNamed || serverAround(options, SERVICE_ACCOUNT) !== undefined
}

function listKubeconfigs({
  kubeconfig,
  mayReadHome,
  environment,
}: ClusterOptions): readonly string[] {
  if (kubeconfig) return [kubeconfig]
  const { KUBECONFIG = '', HOME, USERPROFILE } = environment
  const files = KUBECONFIG.split(delimiter).filter((file) => file !== '')
  const home = HOME || USERPROFILE
  if (files.length > 0 || !mayReadHome || !home) return files
  const own = join(home, '.kube', 'config')
  return existsSync(own) ? [own] : []
}

/**
 * Returns the URL of the apiserver if this process runs in a pod. Returns undefined if a context is
 * requested, because a pod has no contexts.
 */
function serverAround(
  { context, environment }: ClusterOptions,
  serviceAccount: string,
): string | undefined {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = environment
  if (context !== undefined || !host || !port) return undefined
  if (!existsSync(join(serviceAccount, 'token'))) return undefined
  return `https://${isIPv6(host) ? `[${host}]` : host}:${port}`
}

/**
 * Reads the current token and CA certificate. The kubelet replaces a token within an hour
 * (kubernetes.io/docs/tasks/run-application/access-api-from-pod). Reading the files needs no
 * library; importing @kubernetes/client-node would cost every replica about 90 MB and 0.8 s.
 */
async function readServiceAccount(folder: string): Promise<RequestOptions> {
  const read = (name: string) => readFile(join(folder, name), 'utf8')
  const [ca, token] = await Promise.all([read('ca.crt'), read('token')])
  return { ca, agent: false, headers: { authorization: `Bearer ${token.trim()}` } }
}

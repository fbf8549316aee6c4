import { type ClusterName, findCluster } from '../src/cluster/access.ts'
import type { Access } from '../src/cluster/cluster.ts'

const NO_CLUSTER =
  'no cluster is configured: set --kubeconfig or KUBECONFIG, or run in a pod with a service ' +
  'account. To serve without a cluster, use --namespaces FILE'

/**
 * Finds the cluster that the webhook watches. The webhook decides about pods based on the objects
 * that it reads, so the connection must be protected from modification. Only the command line tools
 * accept plain http, for example from `kubectl proxy`.
 *
 * @throws an error if no cluster is configured, a file is invalid, or the URL does not begin with
 * https://
 */
export async function clusterToWatch(
  { kubeconfig, context }: ClusterName,
  environment: NodeJS.ProcessEnv,
): Promise<Access> {
  const found = await findCluster({ kubeconfig, context, environment })
  if (found === undefined) throw new Error(NO_CLUSTER)
  const { server, source } = found
  if (!server.startsWith('https://'))
    throw new Error(`${source}: the server ${server} must begin with https://`)
  return found
}

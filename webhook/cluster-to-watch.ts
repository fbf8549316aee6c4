import { findCluster } from '../src/cluster/access.ts'
import type { Access } from '../src/cluster/cluster.ts'

const NO_CLUSTER =
  'no cluster is configured: set --kubeconfig or KUBECONFIG, or run in a pod with a service ' +
  'account. To serve without a cluster, use --namespaces FILE'

/**
 * Finds the cluster that a server watches. The server decides about pods based on the objects it
 * reads, so the connection must be protected from modification: plain http is only for a user's own
 * proxy.
 *
 * @throws an error that says that no cluster is configured, or names the invalid file or the URL
 * that is not https
 */
export async function clusterToWatch(kubeconfig: string | undefined): Promise<Access> {
  const found = await findCluster({ kubeconfig })
  if (found === undefined) throw new Error(NO_CLUSTER)
  const { server, source } = found
  if (!server.startsWith('https://'))
    throw new Error(`${source}: the server ${server} must begin with https://`)
  return found
}

import { findCluster } from '../src/cluster/access.ts'
import type { Access } from '../src/cluster/cluster.ts'

const NO_CLUSTER =
  'no cluster to watch: neither --kubeconfig nor KUBECONFIG names a file, and this is no pod with a ' +
  'service account; --namespaces FILE serves without a cluster'

/**
 * Finds the cluster that a server watches. What it reads there decides about pods, so that nobody on the way
 * may write it: plain http is for a person's own proxy.
 *
 * @throws an error that says what is missing, or names the file which does not hold
 */
export async function clusterToWatch(kubeconfig: string | undefined): Promise<Access> {
  const found = await findCluster({ kubeconfig })
  if (found === undefined) throw new Error(NO_CLUSTER)
  const { server, source } = found
  if (!server.startsWith('https://'))
    throw new Error(`${source}: ${server} must begin with https://`)
  return found
}

import { type ClusterName, findCluster } from '../../src/cluster/access.ts'
import { type Apiserver, connectApiserver } from '../../src/cluster/apiserver.ts'
import type { Access } from '../../src/cluster/cluster.ts'
import { UsageError, usageError } from './errors.ts'

const NO_CLUSTER =
  'no cluster is configured: set --kubeconfig or KUBECONFIG, or create ~/.kube/config'

/** A connection to a cluster. */
export interface OpenCluster {
  readonly apiserver: Apiserver
  /** The address and the credentials, for requests that are not HTTP. */
  readonly access: Access
  /** The namespace that kubectl would use by default. */
  readonly namespace: string
}

/**
 * Opens the cluster that kubectl would use.
 *
 * @throws UsageError if no cluster is configured, or its kubeconfig is invalid
 */
export async function openCluster(
  { kubeconfig, context }: ClusterName,
  environment: NodeJS.ProcessEnv,
): Promise<OpenCluster> {
  const options = { kubeconfig, context, environment, mayReadHome: true }
  const found = await findCluster(options).catch(usageError)
  if (found === undefined) throw new UsageError(NO_CLUSTER)
  const namespace = found.namespace ?? 'default'
  return { apiserver: connectApiserver(found), access: found, namespace }
}

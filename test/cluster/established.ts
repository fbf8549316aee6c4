import type { Cluster } from './machine/cluster.ts'
import { kubectl } from './machine/kubectl.ts'
import { until } from './until.ts'

interface Definition {
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[] | null
  }
}

/**
 * Waits until the apiserver serves the resources of custom resource definitions. `kubectl wait`
 * cannot be used: it fails if a definition has no conditions yet.
 *
 * @param definitions the words of `kubectl get` that name the definitions
 */
export async function waitUntilEstablished(
  cluster: Cluster,
  definitions: readonly string[],
): Promise<void> {
  await until('the custom resource definitions are established', async () => {
    const found = JSON.parse(await kubectl(cluster, ['get', ...definitions, '-o', 'json']))
    return ((found.items ?? [found]) as readonly Definition[]).every(isEstablished)
  })
}

function isEstablished({ status }: Definition): boolean {
  const conditions = status?.conditions ?? []
  return conditions.some(({ type, status }) => type === 'Established' && status === 'True')
}

import {
  CoreV1Api,
  type KubeConfig,
  PatchStrategy,
  setHeaderOptions,
} from '@kubernetes/client-node'
import { ARMED_LABEL } from '../core/keys.ts'
import { UsageError } from './errors.ts'
import { refusalOf } from './kubeconfig.ts'

const AS_MERGE_PATCH = setHeaderOptions('Content-Type', PatchStrategy.MergePatch)

/**
 * Takes the label that the webhook selects by off all namespaces, and prints a line for each.
 *
 * @throws UsageError naming those that keep it, after all were tried
 */
export async function removeLabels(
  config: KubeConfig,
  print: (text: string) => void,
): Promise<void> {
  const api = config.makeApiClient(CoreV1Api)
  const { items } = await api.listNamespace({ labelSelector: ARMED_LABEL }).catch((error) => {
    throw new UsageError(`namespaces keep their label ${ARMED_LABEL}: ${refusalOf(error)}`)
  })
  const body = { metadata: { labels: { [ARMED_LABEL]: null } } }
  const troubles: string[] = []
  for (const name of items.map(({ metadata }) => metadata?.name ?? '')) {
    try {
      await api.patchNamespace({ name, body, fieldManager: 'ridealong' }, AS_MERGE_PATCH)
      print(`Namespace ${name}: disarmed\n`)
    } catch (error) {
      troubles.push(`Namespace ${name} keeps its label: ${refusalOf(error)}`)
    }
  }
  if (troubles.length > 0) throw new UsageError(troubles.join('; '))
}

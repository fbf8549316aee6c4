import { setTimeout as sleep } from 'node:timers/promises'
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

/** How often a label is taken off that comes back at once, and the milliseconds between. */
const TRIES = 10
const PAUSE_MS = 500

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
  const troubles: string[] = []
  for (const name of items.map(({ metadata }) => metadata?.name ?? '')) {
    try {
      await removeLabel(api, name)
      print(`Namespace ${name}: disarmed\n`)
    } catch (error) {
      troubles.push(`Namespace ${name} keeps its label: ${refusalOf(error)}`)
    }
  }
  if (troubles.length > 0) throw new UsageError(troubles.join('; '))
}

/**
 * An apiserver goes on asking a webhook for as long as it has not heard that its configuration is gone, and
 * the webhook puts the label back in the same breath.
 */
async function removeLabel(api: CoreV1Api, name: string): Promise<void> {
  const body = { metadata: { labels: { [ARMED_LABEL]: null } } }
  const request = { name, body, fieldManager: 'ridealong' }
  for (let tries = 1; ; tries += 1) {
    const { metadata } = await api.patchNamespace(request, AS_MERGE_PATCH)
    if (metadata?.labels?.[ARMED_LABEL] === undefined) return
    if (tries === TRIES) throw new Error('a webhook sets it again')
    await sleep(PAUSE_MS)
  }
}

import type { Catalog } from '../../core/catalog.ts'
import { calledBy, POD_WEBHOOK, webhookIn } from '../../explain/webhook.ts'
import type { Reader } from './reader.ts'
import { resolveOffer } from './release-facts.ts'
import { readConfiguration } from './webhook-facts.ts'

/**
 * Reads the catalog that the webhook of a cluster offers, if the caller's permissions allow. The
 * webhook configuration names the Service. The Deployment has the same name as the Service and
 * mounts the ConfigMap of the catalog.
 *
 * @returns the catalog, or the problem that prevents reading it
 */
export async function readClusterCatalog(
  reader: Reader,
): Promise<{ readonly value: Catalog } | { readonly problem: string }> {
  const configuration = await readConfiguration(reader, {})
  if ('problem' in configuration) return configuration
  const webhook = configuration.value && webhookIn(configuration.value, POD_WEBHOOK)
  const service = webhook && calledBy(webhook).service
  if (service === undefined)
    return { problem: 'no MutatingWebhookConfiguration names a Service of Ridealong' }
  const { name, namespace } = service
  const deployment = await reader.look(`/apis/apps/v1/namespaces/${namespace}/deployments/${name}`)
  const offer = await resolveOffer(reader, `/api/v1/namespaces/${namespace}`, deployment)
  if ('problem' in offer) return offer
  if (offer.value.kind === 'whole') return { value: offer.value.catalog }
  return {
    problem:
      offer.value.kind === 'broken' ? offer.value.problem : `Deployment ${name} mounts no catalog`,
  }
}

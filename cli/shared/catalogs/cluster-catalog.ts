import type { Catalog } from '../../../src/core/catalog.ts'
import type { Fields } from '../../../src/core/kubernetes/json.ts'
import type { FactLookup } from '../../../src/pods/explain/facts.ts'
import { calledBy, isRelease, POD_WEBHOOK, webhookIn } from '../../../src/pods/explain/webhook.ts'
import type { Reader } from '../reader.ts'
import { listConfigurations, readConfiguration } from '../webhook-facts.ts'
import { resolveOffer } from './release-catalog.ts'

/**
 * Reads the catalog that the webhook of a cluster offers, if the caller's permissions allow. The
 * webhook configuration names the Service. The Deployment has the same name as the Service and
 * mounts the ConfigMap of the catalog.
 *
 * @param revision the revision of the release; undefined for the default release, or for the only
 * other release
 * @returns the catalog, or the problem that prevents reading it
 */
export async function readClusterCatalog(
  reader: Reader,
  revision?: string,
): Promise<FactLookup<Catalog>> {
  const configuration = await readConfiguration(reader, { revision })
  if ('problem' in configuration) return configuration
  return readOffered(reader, configuration.value)
}

/**
 * Finds the catalog with a revision of its content among the catalogs of all releases.
 *
 * @returns undefined if no release has such a catalog, or the catalogs cannot be read
 */
export async function findClusterCatalog(
  reader: Reader,
  contentRevision: string,
): Promise<Catalog | undefined> {
  const list = await listConfigurations(reader)
  if ('problem' in list) return undefined
  const offers = await Promise.all(
    list.value.filter(isRelease).map((one) => readOffered(reader, one)),
  )
  const catalogs = offers.flatMap((offer) => ('value' in offer ? [offer.value] : []))
  return catalogs.find(({ revision }) => revision === contentRevision)
}

async function readOffered(
  reader: Reader,
  configuration: Fields | undefined,
): Promise<FactLookup<Catalog>> {
  const webhook = configuration && webhookIn(configuration, POD_WEBHOOK)
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

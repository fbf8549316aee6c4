import { loadCatalog } from '../catalog/load.ts'
import { catalogOf, type Installation } from '../doctor/installation.ts'
import { metricToAsk } from '../doctor/probe.ts'
import { type DryRun, tryNamespace, tryPod } from './doctor-dry-run.ts'
import { listed, type Reader } from './reader.ts'
import { readRelease } from './release-facts.ts'
import { readWebhookFacts } from './webhook-facts.ts'

/**
 * Reads what a cluster says of an installation, as far as whoever asks may know.
 *
 * @param configuration the name of the MutatingWebhookConfiguration; without it the first that holds a webhook of ours
 */
export async function readInstallation(
  reader: Reader,
  dryRun: DryRun,
  configuration: string | undefined,
): Promise<Installation> {
  const webhook = await readWebhookFacts(reader, configuration)
  const release = await readRelease(reader, webhook)
  const metric = metricToAsk(catalogOf(release) ?? (await loadCatalog({})))
  const [namespaces, triedNamespace, answer] = await Promise.all([
    reader.look('/api/v1/namespaces'),
    tryNamespace(dryRun, metric),
    tryPod(dryRun, metric),
  ])
  const triedPod = { namespace: dryRun.namespace, metric, answer }
  return { webhook, release, namespaces: listed(namespaces), triedNamespace, triedPod }
}

import { loadCatalog } from '../../catalog/load.ts'
import { type Installation, readCatalog } from '../../doctor/installation.ts'
import { metricToAsk } from '../../doctor/probe.ts'
import { listed, type Reader } from '../shared/reader.ts'
import { readRelease } from '../shared/release-facts.ts'
import { readWebhookFacts } from '../shared/webhook-facts.ts'
import { tryNamespace, tryPod } from './doctor-dry-run.ts'

export interface InstallationOptions {
  /** The namespace where a pod is tried. */
  readonly namespace: string
  /** The name of the MutatingWebhookConfiguration; default: the first that has a webhook of ours. */
  readonly webhookConfiguration?: string | undefined
  /** A file with the server's certificate, PEM; default: the Secret that the Deployment mounts. */
  readonly certificate?: string | undefined
}

/** Reads what a cluster says of an installation, as far as the caller's rights reach. */
export async function readInstallation(
  reader: Reader,
  { namespace, webhookConfiguration, certificate }: InstallationOptions,
): Promise<Installation> {
  const webhook = await readWebhookFacts(reader, webhookConfiguration, certificate)
  const release = await readRelease(reader, webhook)
  const metric = metricToAsk(readCatalog(release) ?? (await loadCatalog({})))
  const [namespaces, triedNamespace, answer] = await Promise.all([
    reader.look('/api/v1/namespaces'),
    tryNamespace(reader.apiserver, metric),
    tryPod(reader.apiserver, namespace, metric),
  ])
  const triedPod = { namespace, metric, answer }
  return { webhook, release, namespaces: listed(namespaces), triedNamespace, triedPod }
}

import { loadCatalog } from '../../catalog/load.ts'
import { type Installation, readCatalog } from '../../doctor/installation.ts'
import { metricToAsk } from '../../doctor/probe.ts'
import { listed, type Reader } from '../shared/reader.ts'
import { readRelease } from '../shared/release-facts.ts'
import { readWebhookFacts } from '../shared/webhook-facts.ts'
import { tryNamespace, tryPod } from './doctor-dry-run.ts'

export interface InstallationOptions {
  /** The namespace for the dry run of a pod. */
  readonly namespace: string
  /**
   * The name of the MutatingWebhookConfiguration; default: the first that contains a webhook of
   * Ridealong.
   */
  readonly webhookConfiguration?: string | undefined
  /**
   * A file with the server's certificate, PEM; default: the certificate in the Secret that the
   * Deployment mounts, or the certificate that the server presents if the webhook is called by URL.
   */
  readonly certificate?: string | undefined
}

/** Reads the facts about an installation that the caller's permissions allow. */
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

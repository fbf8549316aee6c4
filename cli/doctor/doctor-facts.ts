import { loadCatalog } from '../../src/catalog/load.ts'
import { readRevision } from '../../src/core/namespaces/revision.ts'
import { mountedMetrics } from '../../src/pods/doctor/image-volume-checks.ts'
import {
  type Installation,
  type Platform,
  readCatalog,
} from '../../src/pods/doctor/installation.ts'
import { askingPod, metricToAsk } from '../../src/pods/doctor/probe.ts'
import { withoutRequest } from '../../src/pods/explain/admission.ts'
import { tryNamespace, tryPodPair } from '../shared/dry-run.ts'
import { listed, type Reader } from '../shared/reader.ts'
import { readRelease } from '../shared/release-facts.ts'
import { listConfigurations, readWebhookFacts } from '../shared/webhook-facts.ts'

export interface InstallationOptions {
  /** The namespace for the dry run of a pod. */
  readonly namespace: string
  /**
   * The name of the MutatingWebhookConfiguration; default: the one with `revision`, or without a
   * revision, that of the default release.
   */
  readonly webhookConfiguration?: string | undefined
  /** The revision of the release, if `webhookConfiguration` is undefined. */
  readonly revision?: string | undefined
  /**
   * A file with the server's certificate, PEM; default: the certificate in the Secret that the
   * Deployment mounts, or the certificate that the server presents if the webhook is called by URL.
   */
  readonly certificate?: string | undefined
}

/** Reads the facts about an installation that the caller's permissions allow. */
export async function readInstallation(
  reader: Reader,
  { namespace, webhookConfiguration: name, revision, certificate }: InstallationOptions,
): Promise<Installation> {
  const configurations = await listConfigurations(reader)
  const choice = { name, revision, list: configurations }
  const webhook = await readWebhookFacts(reader, choice, certificate)
  const release = await readRelease(reader, webhook)
  const catalog = readCatalog(release)
  const metric = metricToAsk(catalog ?? (await loadCatalog({})))
  const withObservers = askingPod(metric)
  const pair = { withObservers, withoutObservers: withoutRequest(withObservers) }
  const found = 'value' in webhook.configuration ? webhook.configuration.value : undefined
  const [platform, namespaces, triedNamespace, answer] = await Promise.all([
    mountedMetrics(catalog).length > 0 ? readPlatform(reader) : undefined,
    reader.look('/api/v1/namespaces'),
    tryNamespace(reader.apiserver, metric, readRevision(found)),
    tryPodPair(reader.apiserver, namespace, pair),
  ])
  const triedPod = { namespace, metric, answer }
  const lists = { configurations, namespaces: listed(namespaces) }
  return { webhook, release, platform, ...lists, triedNamespace, triedPod }
}

async function readPlatform(reader: Reader): Promise<Platform> {
  const [version, nodes] = await Promise.all([
    reader.look('/version'),
    reader.look('/api/v1/nodes'),
  ])
  return { version, nodes: listed(nodes) }
}

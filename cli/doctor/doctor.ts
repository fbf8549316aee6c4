import { loadCatalog } from '../../src/catalog/load.ts'
import type { ClusterName } from '../../src/cluster/access.ts'
import { fieldsOrNone } from '../../src/core/kubernetes/json.ts'
import { readRevision } from '../../src/core/namespaces/revision.ts'
import { errorMessage } from '../../src/lib/error-message.ts'
import { check, fault, type InstallationCheck } from '../../src/pods/doctor/check.ts'
import { examine, overallOutcome } from '../../src/pods/doctor/examine.ts'
import { mountedMetrics } from '../../src/pods/doctor/image-volume-checks.ts'
import {
  type Installation,
  type Platform,
  readCatalog,
} from '../../src/pods/doctor/installation.ts'
import { askingPod, metricToAsk } from '../../src/pods/doctor/probe.ts'
import { withoutRequest } from '../../src/pods/explain/admission.ts'
import { tryNamespace, tryPodPair } from '../shared/dry-run.ts'
import { EXIT, type ExitCode } from '../shared/errors.ts'
import { listed, openReader, type Reader } from '../shared/reader.ts'
import { readRelease } from '../shared/release-facts.ts'
import type { Session } from '../shared/session.ts'
import { listConfigurations, readWebhookFacts } from '../shared/webhook-facts.ts'

export interface DoctorOptions extends ClusterName {
  readonly statusUrl?: string | undefined
  readonly webhookConfiguration?: string | undefined
  readonly revision?: string | undefined
  /** A file with the server's certificate, for callers that may not read the Secret. */
  readonly certificate?: string | undefined
  /** The namespace for the dry run of a pod. */
  readonly namespace?: string | undefined
}

/**
 * Runs `ridealong doctor`: checks an installation, from the certificate to a pod that requests a
 * metric. Facts that cannot be read are reported as `unknown`. With `statusUrl`, the readiness
 * checks of the webhook come first. Nothing is created.
 *
 * @throws UsageError if there are no credentials or the cluster does not answer
 */
export async function doctor(
  options: DoctorOptions,
  { environment }: Session,
): Promise<readonly InstallationCheck[]> {
  const { statusUrl } = options
  const reader = await openReader(options, environment)
  const { namespace = reader.namespace } = options
  // By default, every caller may read this path. If the cluster does not answer, the error is
  // reported here, once, instead of once for each fact.
  await reader.get('/version')
  const own = statusUrl === undefined ? [] : await askServer(statusUrl)
  const installation = await readInstallation(reader, { ...options, namespace })
  return [...own, ...examine(installation)]
}

/**
 * Returns 1 if a check failed, 2 if no check failed but neither dry run could be made, and 0
 * otherwise.
 */
export function exitCode(checks: readonly InstallationCheck[]): ExitCode {
  const codes = { sound: EXIT.ok, faulty: EXIT.no, unknown: EXIT.trouble }
  return codes[overallOutcome(checks)]
}

const PATIENCE_MS = 10_000

/**
 * Requests the readiness checks of a webhook from the path /readyz, and returns one check for each,
 * or a single fault if the webhook does not answer.
 *
 * @param address a URL, or the value that a kubelet writes into the environment of pods for a port
 * of a Service, such as tcp://10.96.7.1:8080 (kubernetes pkg/kubelet/envvars/envvars.go)
 */
async function askServer(address: string): Promise<readonly InstallationCheck[]> {
  const url = address.replace(/^tcp:/, 'http:')
  try {
    const response = await fetch(new URL('/readyz', url), {
      signal: AbortSignal.timeout(PATIENCE_MS),
    })
    const checks = Object.entries(fieldsOrNone(fieldsOrNone(await response.json()).checks))
    return checks.map(([name, state]) => {
      const title = `the webhook's ${name}`
      const remedy = 'see the log of the webhook'
      return state === 'ok' ? check(title, 'ok', 'ok') : fault(title, String(state), remedy)
    })
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
    const remedy =
      'check that a replica is ready and that no NetworkPolicy blocks connections from here'
    return [fault('the webhook answers', errorMessage(cause), remedy)]
  }
}

interface InstallationOptions {
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
async function readInstallation(
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

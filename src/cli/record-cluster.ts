import { setTimeout as sleep } from 'node:timers/promises'
import {
  AdmissionregistrationV1Api,
  ApiException,
  type ConfigurationOptions,
  CoreV1Api,
  type KubeConfig,
  type ObservableMiddleware,
  setHeaderMiddleware,
} from '@kubernetes/client-node'
import { type configurationOf, PROBE_LABEL } from '../recording/configuration.ts'
import { UsageError } from './errors.ts'
import { refusalOf } from './kubeconfig.ts'

type Configuration = ReturnType<typeof configurationOf>

/** The longest for one call to the apiserver, for its first call to us, and for the end. */
const CALL_MS = 10_000
const REACH_MS = 15_000
const REMOVE_MS = 30_000

/** The client itself waits for ever. */
function patient(): ConfigurationOptions<ObservableMiddleware> {
  const agent = setHeaderMiddleware('User-Agent', 'ridealong')
  const pre: ObservableMiddleware['pre'] = (request) => {
    request.setSignal(AbortSignal.timeout(CALL_MS))
    return agent.pre(request)
  }
  return { middleware: [{ ...agent, pre }] }
}

/**
 * Has the apiserver send reviews.
 *
 * @param isForced whether a configuration of that name is replaced
 * @throws UsageError where one is there, or with the apiserver's own sentence; nothing is left
 */
export async function install(
  config: KubeConfig,
  body: Configuration,
  isForced: boolean,
): Promise<void> {
  const api = config.makeApiClient(AdmissionregistrationV1Api)
  const { name } = body.metadata
  try {
    if (isForced) await api.deleteMutatingWebhookConfiguration({ name }, patient()).catch(isGone)
    await api.createMutatingWebhookConfiguration({ body }, patient())
  } catch (error) {
    // Without an answer it may be there and it may not.
    if (!(error instanceof ApiException)) await removeOnce(config, body).catch(() => {})
    throw new UsageError(
      error instanceof ApiException && error.code === 409
        ? `MutatingWebhookConfiguration ${name} is there already: another recording runs, or one was killed; --force replaces it, --name gives this one another`
        : `the apiserver takes no MutatingWebhookConfiguration: ${refusalOf(error)}`,
    )
  }
}

/** @throws whatever is not the apiserver's word that it is not there */
function isGone(error: unknown): void {
  if (!(error instanceof ApiException) || error.code !== 404) throw error
}

/**
 * Waits until the apiserver calls. Nothing fails where it cannot reach a webhook that may be ignored, so it is
 * made to call about a Namespace, in a dry run, where it says what is in the way.
 *
 * @throws UsageError with what is in the way
 */
export async function untilCalled(
  config: KubeConfig,
  url: string,
  probe: string,
  wasCalled: () => boolean,
): Promise<void> {
  const api = config.makeApiClient(CoreV1Api)
  const metadata = { generateName: 'ridealong-record-', labels: { [PROBE_LABEL]: probe } }
  const end = performance.now() + REACH_MS
  while (!wasCalled()) {
    await api.createNamespace({ body: { metadata }, dryRun: 'All' }, patient()).catch((error) => {
      throw new UsageError(`the apiserver does not reach ${url}: ${refusalOf(error)}`)
    })
    if (performance.now() > end) {
      throw new UsageError(`the apiserver sends nothing to ${url}; something else may answer there`)
    }
    await sleep(100)
  }
}

/**
 * Takes the configuration away, again and again where the apiserver does not answer. One that somebody else
 * has put in its place stays.
 *
 * @throws UsageError that says what is left and how to take it away
 */
export async function remove(config: KubeConfig, installed: Configuration): Promise<void> {
  const end = performance.now() + REMOVE_MS
  for (;;) {
    const trouble = await removeOnce(config, installed).then(() => undefined, refusalOf)
    if (trouble === undefined) return
    if (performance.now() > end) {
      const { name } = installed.metadata
      throw new UsageError(
        `MutatingWebhookConfiguration ${name} stays: ${trouble}; take it away with kubectl delete mutatingwebhookconfiguration ${name}`,
      )
    }
    await sleep(500)
  }
}

async function removeOnce(config: KubeConfig, { metadata, webhooks }: Configuration) {
  const api = config.makeApiClient(AdmissionregistrationV1Api)
  const { name } = metadata
  try {
    const there = await api.readMutatingWebhookConfiguration({ name }, patient())
    // The path is of this recording alone.
    if (there.webhooks?.[0]?.clientConfig.url !== webhooks[0]?.clientConfig.url) return
    const preconditions = { uid: there.metadata?.uid ?? '' }
    await api.deleteMutatingWebhookConfiguration({ name, body: { preconditions } }, patient())
  } catch (error) {
    isGone(error)
  }
}

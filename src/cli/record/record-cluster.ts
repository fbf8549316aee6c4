import { setTimeout as sleep } from 'node:timers/promises'
import type { Apiserver, Call } from '../../cluster/apiserver.ts'
import { WEBHOOK_CONFIGURATIONS } from '../../cluster/paths.ts'
import { isConflict, isMissing, Refusal } from '../../cluster/refusal.ts'
import { asObjects, type Fields, fieldsOrNone } from '../../core/kubernetes/json.ts'
import { type buildConfiguration, PROBE_LABEL } from '../../recording/configuration.ts'
import { UsageError } from '../shared/errors.ts'
import { describeRefusal } from '../shared/refusal.ts'

type Configuration = ReturnType<typeof buildConfiguration>

/** The longest for one call to the apiserver, for its first call to us, and for the end. */
const CALL_MS = 10_000
const REACH_MS = 15_000
const REMOVE_MS = 30_000

function ask(apiserver: Apiserver, call: Omit<Call, 'signal'>): Promise<Fields> {
  return apiserver.ask({ ...call, signal: AbortSignal.timeout(CALL_MS) })
}

function configurationPath({ metadata }: Configuration): string {
  return `${WEBHOOK_CONFIGURATIONS}/${encodeURIComponent(metadata.name)}`
}

/**
 * Has the apiserver send reviews.
 *
 * @param isForced whether a configuration of that name is replaced
 * @throws UsageError where one is there, or with the apiserver's own sentence; nothing is left
 */
export async function install(
  apiserver: Apiserver,
  configuration: Configuration,
  isForced: boolean,
): Promise<void> {
  const path = configurationPath(configuration)
  try {
    if (isForced) await ask(apiserver, { path, delete: {} }).catch(mustBeMissing)
    await ask(apiserver, { path: WEBHOOK_CONFIGURATIONS, create: configuration })
  } catch (error) {
    // Without an answer it may be there and it may not.
    if (!(error instanceof Refusal)) await removeOnce(apiserver, configuration).catch(() => {})
    throw new UsageError(
      isConflict(error)
        ? `MutatingWebhookConfiguration ${configuration.metadata.name} is there already: another recording runs, or one was killed; --force replaces it, --name gives this one another`
        : `the apiserver takes no MutatingWebhookConfiguration: ${describeRefusal(error)}`,
    )
  }
}

/** @throws whatever is not the apiserver's word that it is not there */
function mustBeMissing(error: unknown): void {
  if (!isMissing(error)) throw error
}

/**
 * Waits until the apiserver calls. Nothing fails where it cannot reach a webhook that may be ignored, so it is
 * made to call about a Namespace, in a dry run, where it says what is in the way.
 *
 * @throws UsageError with what is in the way
 */
export async function untilCalled(
  apiserver: Apiserver,
  url: string,
  probe: string,
  wasCalled: () => boolean,
): Promise<void> {
  const metadata = { generateName: 'ridealong-record-', labels: { [PROBE_LABEL]: probe } }
  const create = { apiVersion: 'v1', kind: 'Namespace', metadata }
  const call = { path: '/api/v1/namespaces', query: { dryRun: 'All' }, create }
  const end = performance.now() + REACH_MS
  while (!wasCalled()) {
    await ask(apiserver, call).catch((error) => {
      throw new UsageError(`the apiserver does not reach ${url}: ${describeRefusal(error)}`)
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
export async function remove(apiserver: Apiserver, installed: Configuration): Promise<void> {
  const end = performance.now() + REMOVE_MS
  for (;;) {
    const trouble = await removeOnce(apiserver, installed).then(() => undefined, describeRefusal)
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

async function removeOnce(apiserver: Apiserver, configuration: Configuration): Promise<void> {
  const path = configurationPath(configuration)
  try {
    const { metadata, webhooks } = await ask(apiserver, { path })
    const { url } = fieldsOrNone(asObjects(webhooks)[0]?.clientConfig)
    // The path is of this recording alone.
    if (url !== configuration.webhooks[0]?.clientConfig.url) return
    const { uid } = fieldsOrNone(metadata)
    await ask(apiserver, { path, delete: { uid } })
  } catch (error) {
    mustBeMissing(error)
  }
}

import { ApiError, describeApiError, isConflict, isMissing } from '../../src/cluster/api-error.ts'
import type { Apiserver, Call } from '../../src/cluster/apiserver.ts'
import { WEBHOOK_CONFIGURATIONS } from '../../src/cluster/paths.ts'
import { asObjects, type Fields, fieldsOrNone } from '../../src/core/kubernetes/json.ts'
import { pause } from '../../src/lib/pause.ts'
import { type buildConfiguration, PROBE_LABEL } from '../../src/pods/recording/configuration.ts'
import { UsageError } from '../shared/errors.ts'

type Configuration = ReturnType<typeof buildConfiguration>

/** The time limit for one request to the apiserver. */
const CALL_MS = 10_000
/** The time after which the first call of the apiserver to the recorder is no longer awaited. */
const REACH_MS = 15_000
/** The time after which the removal of the configuration is not retried. */
const REMOVE_MS = 30_000

function ask(apiserver: Apiserver, call: Omit<Call, 'signal'>): Promise<Fields> {
  return apiserver.ask({ ...call, signal: AbortSignal.timeout(CALL_MS) })
}

function configurationPath({ metadata }: Configuration): string {
  return `${WEBHOOK_CONFIGURATIONS}/${encodeURIComponent(metadata.name)}`
}

/**
 * Creates the configuration, so that the apiserver sends reviews.
 *
 * @param isForced whether an existing configuration of this name is replaced
 * @throws UsageError if the configuration already exists, or with the apiserver's message. If the
 * apiserver may have created the configuration in spite of the error, the function first tries to
 * remove the configuration
 */
export async function install(
  apiserver: Apiserver,
  configuration: Configuration,
  isForced: boolean,
): Promise<void> {
  const path = configurationPath(configuration)
  const { name } = configuration.metadata
  try {
    if (isForced) await ask(apiserver, { path, delete: {} }).catch(mustBeMissing)
    await ask(apiserver, { path: WEBHOOK_CONFIGURATIONS, create: configuration })
  } catch (error) {
    // If the apiserver did not answer, it may still have created the configuration.
    if (!(error instanceof ApiError)) await removeOnce(apiserver, configuration).catch(() => {})
    throw new UsageError(
      isConflict(error)
        ? alreadyExists(name)
        : `cannot create MutatingWebhookConfiguration ${name}: ${describeApiError(error)}`,
    )
  }
}

function alreadyExists(name: string): string {
  const cause = 'another recording is running, or was killed'
  const remedy = '--force replaces it, and --name gives this recording another name'
  return `MutatingWebhookConfiguration ${name} already exists: ${cause}; ${remedy}`
}

/** @throws the error, unless its status is 404 */
function mustBeMissing(error: unknown): void {
  if (!isMissing(error)) throw error
}

/**
 * Waits until the apiserver has called the recorder. The webhook for pods has failurePolicy Ignore:
 * the apiserver would not report that it cannot reach the recorder. This function therefore creates
 * a Namespace in a dry run. The webhook for this Namespace has failurePolicy Fail, which makes the
 * apiserver report the problem.
 *
 * @throws UsageError with the problem
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
      throw new UsageError(`the apiserver cannot reach ${url}: ${describeApiError(error)}`)
    })
    if (performance.now() > end) {
      throw new UsageError(`no call of the apiserver arrived; another program may answer at ${url}`)
    }
    await pause(100)
  }
}

/**
 * Removes the configuration, and retries after an error. A configuration of the same name that
 * another caller has created is kept.
 *
 * @throws UsageError with the name of the configuration that remains, and how to remove it
 */
export async function remove(apiserver: Apiserver, configuration: Configuration): Promise<void> {
  const end = performance.now() + REMOVE_MS
  for (;;) {
    const trouble = await removeOnce(apiserver, configuration).then(
      () => undefined,
      describeApiError,
    )
    if (trouble === undefined) return
    if (performance.now() > end) {
      const { name } = configuration.metadata
      throw new UsageError(
        `cannot remove MutatingWebhookConfiguration ${name}: ${trouble}`,
        `remove it with: kubectl delete mutatingwebhookconfiguration ${name}`,
      )
    }
    await pause(500)
  }
}

async function removeOnce(apiserver: Apiserver, configuration: Configuration): Promise<void> {
  const path = configurationPath(configuration)
  try {
    const { metadata, webhooks } = await ask(apiserver, { path })
    const { url } = fieldsOrNone(asObjects(webhooks)[0]?.clientConfig)
    // The URL has a path that only this recording uses.
    if (url !== configuration.webhooks[0]?.clientConfig.url) return
    const { uid } = fieldsOrNone(metadata)
    await ask(apiserver, { path, delete: { uid } })
  } catch (error) {
    mustBeMissing(error)
  }
}

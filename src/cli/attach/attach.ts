import { type Attached, ephemeral } from '../../attach/ephemeral.ts'
import type { Attachment } from '../../attach/show.ts'
import { isConflict } from '../../cluster/api-error.ts'
import { asText, type Fields, fieldsOrNone, listOrNone } from '../../core/kubernetes/json.ts'
import { readNamespace } from '../../core/namespaces/namespace.ts'
import { describeFailure } from '../shared/api-error.ts'
import { UsageError } from '../shared/errors.ts'
import { openReader, type Reader } from '../shared/reader.ts'
import { readSettings, type SettingOptions } from '../shared/settings.ts'

export interface AttachOptions extends SettingOptions {
  readonly kubeconfig?: string | undefined
  readonly namespace?: string | undefined
  readonly metric: string
  readonly targetContainer?: string | undefined
  readonly option?: readonly string[] | undefined
}

const PATIENCE_MS = 10_000
/** The time within which an observer must start, in seconds, including the pull of the image. */
const START_SECONDS = 60

/**
 * Runs `ridealong attach POD --metric M`: adds an ephemeral container that observes a running pod.
 *
 * @throws UsageError if the request is invalid, or the pod, the cluster or a policy of the cluster
 * prevents the ephemeral container
 */
export async function attach(name: string, options: AttachOptions): Promise<Attachment> {
  const { metric } = options
  const asked = {
    metric,
    targetContainer: options.targetContainer,
    options: readPairs(options.option),
  }
  const { catalog } = await readSettings(options)
  const reader = await openReader(options.kubeconfig)
  const { namespace = reader.namespace } = options
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}`
  const at = `${path}/pods/${encodeURIComponent(name)}`
  // If the caller may not read the namespace, the namespace counts as one that grants observers
  // only the privilege `restricted`. The apiserver checks the other policies of the namespace. Its
  // error message names the policy that is violated.
  const found = await reader.look(path)
  const object = 'value' in found ? found.value : undefined
  const place = { catalog, namespace: readNamespace(namespace, object) }
  const target = await add(reader, at, (pod) => {
    if (pod === undefined) throw new UsageError(`there is no pod ${name} in namespace ${namespace}`)
    const attached = ephemeral(pod, asked, place)
    if ('problem' in attached) throw new UsageError(`pod ${name}: ${attached.problem}`)
    return attached
  })
  await started(reader, at, metric)
  return { namespace, pod: name, container: metric, target }
}

function readPairs(pairs: readonly string[] = []): ReadonlyMap<string, string> {
  return new Map(
    pairs.map((pair) => {
      const [key = '', ...value] = pair.split('=')
      if (value.length === 0)
        throw new UsageError(`--option ${pair} is not NAME=VALUE, for example rate=5`)
      return [key.trim(), value.join('=')] as const
    }),
  )
}

/** The maximum number of attempts in all, as in client-go (util/retry, DefaultRetry). */
const TRIES = 5

type Whole = Exclude<Attached, { readonly problem: string }>

/**
 * Builds a container for the current pod, and adds the container. If a kubelet or a controller has
 * changed the pod in the meantime (a conflict), reads the pod again and retries.
 *
 * @returns the name of the observed container
 */
async function add(
  reader: Reader,
  at: string,
  make: (pod: Fields | undefined) => Whole,
): Promise<string> {
  for (let tries = 1; ; tries += 1) {
    const pod = await reader.get(at)
    const { container, target } = make(pod)
    try {
      await patch(reader, at, pod ?? {}, container)
      return target
    } catch (error) {
      if (isConflict(error) && tries < TRIES) continue
      throw new UsageError(`cannot add an ephemeral container: ${describeFailure(error)}`)
    }
  }
}

/**
 * Adds the container to the pod. The patch contains the resourceVersion that was read, so that an
 * ephemeral container that was added in the meantime is not lost.
 */
async function patch(
  { apiserver }: Reader,
  at: string,
  { metadata, spec }: Fields,
  container: Fields,
): Promise<void> {
  const { resourceVersion } = fieldsOrNone(metadata)
  const before = listOrNone(fieldsOrNone(spec).ephemeralContainers)
  const patch = {
    metadata: { resourceVersion },
    spec: { ephemeralContainers: [...before, container] },
  }
  const signal = AbortSignal.timeout(PATIENCE_MS)
  await apiserver.ask({ path: `${at}/ephemeralcontainers`, patch, signal })
}

/**
 * Waits until the observer has started.
 *
 * @throws UsageError with the reason why the kubelet does not start the observer
 */
async function started(reader: Reader, at: string, name: string): Promise<void> {
  const end = performance.now() + START_SECONDS * 1000
  let why = 'the kubelet has not reported its status'
  while (performance.now() < end) {
    const statuses = fieldsOrNone((await reader.get(at))?.status).ephemeralContainerStatuses
    const own = listOrNone(statuses)
      .map(fieldsOrNone)
      .find((status) => status.name === name)
    const { running, terminated, waiting } = fieldsOrNone(own?.state)
    if (running !== undefined || terminated !== undefined) return
    const { reason, message } = fieldsOrNone(waiting)
    why = [asText(reason), asText(message)].filter((text) => text !== undefined).join(': ') || why
    if (
      /^(ErrImagePull|ImagePullBackOff|InvalidImageName|Create.*Error)$/.test(asText(reason) ?? '')
    )
      break
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
  throw new UsageError(`ephemeral container ${name} was added but has not started: ${why}`)
}

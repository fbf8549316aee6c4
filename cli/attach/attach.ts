import type { ClusterName } from '../../src/cluster/access.ts'
import { describeFailure, isConflict } from '../../src/cluster/api-error.ts'
import {
  asObjects,
  asText,
  type Fields,
  fieldsOrNone,
  listOrNone,
} from '../../src/core/kubernetes/json.ts'
import { readNamespace } from '../../src/core/namespaces/namespace.ts'
import { isReason, REASONS } from '../../src/core/reasons.ts'
import { pause } from '../../src/lib/pause.ts'
import {
  type Attached,
  type AttachRequest,
  ephemeral,
  type PodLocation,
} from '../../src/pods/attach/ephemeral.ts'
import { type NodeObjects, nodeImageProblem } from '../../src/pods/attach/node-image.ts'
import type { Attachment } from '../../src/pods/attach/show.ts'
import {
  type InstalledCatalog,
  readInstalledCatalog,
} from '../shared/catalogs/installed-catalog.ts'
import { UsageError } from '../shared/errors.ts'
import { openReader, type Reader } from '../shared/reader.ts'
import type { Session } from '../shared/session.ts'
import type { SettingOptions } from '../shared/settings.ts'

export interface AttachOptions extends SettingOptions, ClusterName {
  readonly namespace?: string | undefined
  readonly metric: string
  readonly targetContainer?: string | undefined
  readonly option?: readonly string[] | undefined
}

const PATIENCE_MS = 10_000
/** The time within which an observer must start, in seconds, including the pull of the image. */
const START_SECONDS = 60
/** Milliseconds between two looks at the status of the observer. */
const LOOK_MS = 500

/**
 * Runs `ridealong attach POD --metric M`: adds an ephemeral container that observes a running
 * pod. It says where the image comes from before it adds the container.
 *
 * @throws UsageError if the request is invalid, or the pod, the cluster or a policy of the cluster
 * prevents the ephemeral container
 */
export async function attach(
  name: string,
  options: AttachOptions,
  { environment, say }: Session,
): Promise<Attachment> {
  const { metric } = options
  const asked = {
    metric,
    targetContainer: options.targetContainer,
    options: readPairs(options.option),
  }
  const reader = await openReader(options, environment)
  const { namespace = reader.namespace } = options
  const at = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}`
  const there = (pod: Fields | undefined) => {
    if (pod === undefined) throw new UsageError(`there is no pod ${name} in namespace ${namespace}`)
    return pod
  }
  const pod = there(await reader.get(at))
  const place = await readPlace(reader, options, namespace, asked)
  const build = (pod: Fields | undefined) => {
    const attached = ephemeral(there(pod), asked, place)
    if ('problem' in attached) throw new UsageError(`pod ${name}: ${attached.problem}`)
    return attached
  }
  const image = asText(build(pod).container.image) ?? ''
  if (place.origin !== undefined) say(`${image}: ${place.origin}`)
  const problem = nodeImageProblem(image, pod, await readNode(reader, pod))
  if (problem !== undefined) throw new UsageError(problem)
  const target = await add(reader, at, build)
  await started(reader, at, metric)
  return { namespace, pod: name, container: metric, target, image }
}

/**
 * Reads the catalog of the installation that serves the namespace, and the namespace. If the caller
 * may not read the namespace, it counts as one that grants observers only the privilege
 * `restricted`. The apiserver checks the other policies of the namespace. Its error message names
 * the policy that is violated.
 *
 * @throws UsageError if the installation does not offer the metric
 */
async function readPlace(
  reader: Reader,
  options: AttachOptions,
  namespace: string,
  { metric, options: chosen }: AttachRequest,
): Promise<PodLocation & Pick<InstalledCatalog, 'origin'>> {
  const annotations = optionAnnotations(metric, chosen)
  const request = { namespace, metrics: [metric], annotations }
  const [installed, found] = await Promise.all([
    readInstalledCatalog(options, { value: reader }, request),
    reader.look(`/api/v1/namespaces/${encodeURIComponent(namespace)}`),
  ])
  mustBeOffered(metric, namespace, installed)
  const object = 'value' in found ? found.value : undefined
  const { catalog, origin } = installed
  return { catalog, namespace: readNamespace(namespace, object), origin }
}

function mustBeOffered(metric: string, namespace: string, { left }: InstalledCatalog): void {
  const answer = left.get(metric)
  if (answer === undefined || !isReason(answer.reason)) return
  if (REASONS[answer.reason].isNotOffered !== true) return
  const who = `the installation that serves namespace ${namespace}`
  throw new UsageError(`${who} answers ${answer.reason}: ${answer.message}`)
}

function optionAnnotations(metric: string, options: ReadonlyMap<string, string>) {
  return Object.fromEntries(
    [...options].map(([name, value]) => [`${metric}.ridealong.dev/${name}`, value]),
  )
}

/** Reads the node of a pod, and the pods on it, as far as the caller may. */
async function readNode({ look, get }: Reader, { metadata, spec }: Fields): Promise<NodeObjects> {
  const nodeName = asText(fieldsOrNone(spec).nodeName) ?? ''
  const namespace = asText(fieldsOrNone(metadata).namespace) ?? ''
  const query = { fieldSelector: `spec.nodeName=${nodeName}` }
  const [node, pods] = await Promise.all([
    look(`/api/v1/nodes/${encodeURIComponent(nodeName)}`),
    get('/api/v1/pods', query).catch(() =>
      get(`/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`, query).catch(() => undefined),
    ),
  ])
  return { node: 'value' in node ? node.value : undefined, pods: asObjects(pods?.items) }
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
    const status = listOrNone(statuses)
      .map(fieldsOrNone)
      .find((status) => status.name === name)
    const { running, terminated, waiting } = fieldsOrNone(status?.state)
    if (running !== undefined || terminated !== undefined) return
    const { reason, message } = fieldsOrNone(waiting)
    why = [asText(reason), asText(message)].filter((text) => text !== undefined).join(': ') || why
    if (
      /^(ErrImagePull|ImagePullBackOff|InvalidImageName|Create.*Error)$/.test(asText(reason) ?? '')
    )
      break
    await pause(LOOK_MS)
  }
  throw new UsageError(`ephemeral container ${name} was added but has not started: ${why}`)
}

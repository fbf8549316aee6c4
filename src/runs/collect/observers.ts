import type { Catalog } from '../../core/catalog.ts'
import {
  asFields,
  asObjects,
  asShortText,
  asText,
  type Fields,
  fieldsOrNone,
  MAX_NAME_LENGTH,
  parseFields,
} from '../../core/kubernetes/json.ts'
import { readQuantity } from '../../core/kubernetes/quantity.ts'
import { type ContainerList, differenceFrom } from '../../core/rules/observer-difference.ts'
import { readPodIndex } from '../../core/rules/pod-index.ts'
import { injectedBefore, readStatus, reasonIn } from '../../core/status.ts'
import { attemptName } from '../log/attempt.ts'
import type { EndedContainer, PodLimits } from '../log/entry.ts'
import { attemptNotices, type EndedAttempt, type ObserverAttempt } from './attempts.ts'
import { countEarlierPods } from './earlier-pods.ts'

/** An observer in a pod of the cluster: a container whose log can be requested. */
export interface RunningObserver extends ObserverAttempt {
  readonly namespace: string
  readonly pod: string
  readonly uid: string
  /** The UID of the pod's controller; null if it has none. */
  readonly owner: string | null
  readonly node: string | null
  readonly pod_index: string | null
  readonly container: string
  /**
   * How the pod's other containers ended, now or before a restart; null if the status of the pod
   * has no list of containers.
   */
  readonly ended: readonly EndedContainer[] | null
  /** The limits of the whole pod. */
  readonly podLimits: PodLimits
  /** How many pods are known to have been replaced by the pod. */
  readonly earlierPods: number
}

export interface PodOfObservers {
  readonly name: string
  /** The name of its node; null until it is scheduled. */
  readonly node: string | null
  /** The index or role of the pod in its workload; null if it is not known. */
  readonly pod_index: string | null
  /** The UID of the pod's controller; null if it has none. */
  readonly owner: string | null
  /** Whether pods were selected, and the pod, or a requested metric of the pod, was not. */
  readonly isSelective: boolean
  /** Whether pods were selected, and the pod was left because its index is not known. */
  readonly hasNoIndex: boolean
  readonly observers: readonly RunningObserver[]
  /**
   * Whether the pod has finished (phase Succeeded or Failed), so that none of its containers will
   * run again.
   */
  readonly isOver: boolean
  /**
   * The reason and message in the annotation `ridealong.dev/status` if Ridealong left the pod,
   * otherwise null.
   */
  readonly left: string | null
}

/**
 * Finds the observers of a pod: the containers that its annotation `ridealong.dev/status` names,
 * including native sidecars, and the ephemeral containers with the name of a metric. The author of
 * a pod can write any value into this annotation, so each container is compared with the catalog.
 *
 * @param pod a core/v1 Pod, as returned by the apiserver
 * @param metrics the names of the catalog's metrics
 * @param catalog the catalog to compare containers with; undefined to omit the comparison
 */
export function findObservers(
  pod: Fields,
  metrics: ReadonlySet<string>,
  catalog: Catalog | undefined,
): PodOfObservers {
  const metadata = fieldsOrNone(pod.metadata)
  const spec = fieldsOrNone(pod.spec)
  const status = fieldsOrNone(pod.status)
  const annotations = fieldsOrNone(metadata.annotations)
  const injected = new Set(injectedBefore(annotations))
  const named = [
    ...namedIn(spec, 'initContainers', injected),
    ...namedIn(spec, 'containers', injected),
    ...namedIn(spec, 'ephemeralContainers', metrics),
  ]
  const place = {
    namespace: asText(metadata.namespace) ?? '',
    pod: asText(metadata.name) ?? '',
    uid: asText(metadata.uid) ?? '',
    owner: readOwner(metadata),
    node: asShortText(spec.nodeName, MAX_NAME_LENGTH) ?? null,
    pod_index: readIndex(metadata),
    podLimits: readPodLimits(spec),
    earlierPods: countEarlierPods(metadata),
    ended: readEnded(pod, new Set([...injected, ...named.map(({ name }) => name)])),
  }
  return {
    name: place.pod,
    node: place.node,
    pod_index: place.pod_index,
    owner: place.owner,
    isSelective: isSelective(annotations),
    hasNoIndex: reasonIn(readStatus(annotations)) === 'pod-index-unknown',
    observers: named.map(({ name, container, list }) => {
      const state = readState(status, name)
      const notices = [...noticesOf(catalog, container, list), ...attemptNotices(state)]
      return { ...place, container: name, attempt: null, isPrevious: false, ...state, notices }
    }),
    isOver: status.phase === 'Succeeded' || status.phase === 'Failed',
    left: leftBecause(annotations),
  }
}

interface Named {
  readonly name: string
  readonly container: Fields
  readonly list: ContainerList
}

function namedIn(spec: Fields, list: ContainerList, names: ReadonlySet<string>): readonly Named[] {
  return asObjects(spec[list]).flatMap((container) => {
    const name = asText(container.name)
    return name !== undefined && names.has(name) ? [{ name, container, list }] : []
  })
}

/** The notice for a container that was not compared with a catalog. */
export const NOT_COMPARED = 'its container was not compared with a catalog'

function noticesOf(
  catalog: Catalog | undefined,
  container: Fields,
  list: ContainerList,
): readonly string[] {
  if (catalog === undefined) return [NOT_COMPARED]
  const difference = differenceFrom(catalog, container, list)
  if (difference === undefined) return []
  return [`${difference.sentence}: its log may not come from an observer`]
}

type ObserverState = Pick<RunningObserver, 'state' | 'restarts' | 'message' | 'before'>

function readState(status: Fields, container: string): ObserverState {
  const all = ['initContainerStatuses', 'containerStatuses', 'ephemeralContainerStatuses']
  const statuses = all.flatMap((list) => asObjects(status[list]))
  const found = fieldsOrNone(statuses.find(({ name }) => name === container))
  const { running, terminated } = fieldsOrNone(found.state)
  const restarts = typeof found.restartCount === 'number' ? found.restartCount : 0
  const last = fieldsOrNone(found.lastState).terminated
  // While the container waits for its next start, its last log is that of `lastState`, and
  // `restartCount` does not count that start yet (kubernetes pkg/kubelet/kubelet_pods.go,
  // `convertToAPIContainerStatuses` and `validateContainerLogStatus`).
  // If the kubelet is gone, the status of the container may be missing although the container has
  // run. Its log can still be requested.
  if (running === undefined && terminated === undefined)
    return { state: 'waiting', restarts, message: messageIn(last), before: null }
  const state = running === undefined ? 'ended' : 'running'
  const before = restarts === 0 ? null : readBefore(container, last)
  return { state, restarts, message: messageIn(terminated), before }
}

/** @param terminated a core/v1 ContainerStateTerminated; undefined if there is none */
function messageIn(terminated: unknown): string | null {
  return asText(fieldsOrNone(terminated).message) ?? null
}

function readBefore(container: string, terminated: unknown): EndedAttempt | null {
  const last = asFields(terminated)
  if (last === undefined) return null
  const ended = endOf(container, last, { restarted: true, deleted: false })
  return { message: messageIn(last), ended }
}

function readPodLimits({ resources }: Fields): PodLimits {
  const { cpu, memory } = fieldsOrNone(fieldsOrNone(resources).limits)
  return { cpu: readAmount(cpu), memory: readAmount(memory) }
}

/** Returns a quantity as a number of its unit; null if it is missing, invalid or 0. */
function readAmount(quantity: unknown): number | null {
  const amount = readQuantity(quantity)
  return amount === undefined || amount <= 0n ? null : Number(amount) / QUANTITY_UNIT
}

/** The units of 10^-12 in which `readQuantity` returns a quantity. */
const QUANTITY_UNIT = 1e12

/** @param observers the names of the containers to leave out */
function readEnded(
  { metadata, status }: Fields,
  observers: ReadonlySet<string>,
): readonly EndedContainer[] | null {
  const { containerStatuses } = fieldsOrNone(status)
  if (containerStatuses === undefined) return null
  const deleted = fieldsOrNone(metadata).deletionTimestamp !== undefined
  return asObjects(containerStatuses).flatMap(({ name, state, lastState }) => {
    const container = asText(name) ?? ''
    if (observers.has(container)) return []
    const before = asFields(fieldsOrNone(lastState).terminated)
    const now = asFields(fieldsOrNone(state).terminated)
    return [
      ...(before === undefined ? [] : [endOf(container, before, { restarted: true, deleted })]),
      ...(now === undefined ? [] : [endOf(container, now, { restarted: false, deleted })]),
    ]
  })
}

/** @param terminated a core/v1 ContainerStateTerminated */
function endOf(
  container: string,
  { reason, exitCode, signal, finishedAt }: Fields,
  facts: Pick<EndedContainer, 'restarted' | 'deleted'>,
): EndedContainer {
  return {
    container,
    reason: asText(reason) ?? null,
    exitCode: typeof exitCode === 'number' ? exitCode : null,
    signal: typeof signal === 'number' ? signal : null,
    finishedAt: asText(finishedAt) ?? null,
    ...facts,
  }
}

/**
 * Returns the index of the pod in its workload, or null if the pod has none that is unique. The
 * indexes of a JobSet, which has several Jobs, contain the name and the index of the Job.
 */
function readIndex(metadata: Fields): string | null {
  const podIndex = readPodIndex(metadata)
  return podIndex === undefined || podIndex.missing.length > 0 ? null : podIndex.label
}

function readOwner({ ownerReferences }: Fields): string | null {
  const owner = asObjects(ownerReferences).find(({ controller }) => controller === true)
  return asShortText(owner?.uid, MAX_NAME_LENGTH) ?? null
}

function isSelective(annotations: Fields): boolean {
  const status = readStatus(annotations)
  return reasonIn(status) === 'pod-not-selected' || status?.notSelected !== undefined
}

function leftBecause(annotations: Fields): string | null {
  const status = parseFields(asText(annotations['ridealong.dev/status'])) ?? {}
  if (status.outcome !== 'left') return null
  return [asText(status.reason), asText(status.message)].filter(Boolean).join(': ')
}

/** Returns the name of a log: NAMESPACE/POD/CONTAINER, and /attempt-N for an earlier attempt. */
export function sourceName({
  namespace,
  pod,
  container,
  attempt,
}: Pick<RunningObserver, 'namespace' | 'pod' | 'container' | 'attempt'>): string {
  return attemptName(`${namespace}/${pod}/${container}`, '/', attempt)
}

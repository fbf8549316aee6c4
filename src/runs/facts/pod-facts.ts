import { asObjects, asText, type Fields, fieldsOrNone } from '../../core/kubernetes/json.ts'
import { type OwnerReference, readController } from '../../core/kubernetes/owner-reference.ts'
import { readPodIndex } from '../../core/rules/pod-index.ts'
import { injectedBefore } from '../../core/status.ts'
import { installerName } from '../../core/tools/tool.ts'
import { readTime } from '../../lib/rfc3339.ts'
import { readIndexFailures, readJobSetRestarts } from '../collect/earlier-pods.ts'
import { findObservers } from '../collect/observers.ts'
import {
  type ComputeAmounts,
  type ContainerFacts,
  readAmounts,
  readContainers,
} from './container-facts.ts'
import { readStart } from './container-runs.ts'
import { listMissing, readMessages } from './observer-messages.ts'
import { type PodHistory, readPodHistory } from './pod-history.ts'
import { joinSummaries } from './summary-message.ts'

export type PodPhase = 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown'

/** A pod of a run. */
export interface RunPod {
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly controller: OwnerReference | undefined
  /** The revision of the workload that created it; null if the workload has none. */
  readonly revision: string | null
  /** The role of the pod in its workload; empty if the workload has no roles. */
  readonly role: string
  /** The index or role in the workload; null if it is not known. */
  readonly pod_index: string | null
  /** How often its JobSet had restarted when it was created; 0 for other workloads. */
  readonly restartAttempt: number
  /** How often its index had failed when its Job created it; 0 if the Job does not count that. */
  readonly indexFailures: number
  readonly phase: PodPhase
  /** Whether its deletion was requested while it ran, or before. */
  readonly wasDeleted: boolean
  /** Whether it does not exist any more. The facts are then those of its last state. */
  readonly isGone: boolean
  /** Why the pod failed, such as Evicted; null if it has no reason. */
  readonly reason: string | null
  /** The name of its node; null until it is scheduled. */
  readonly node: string | null
  /** Milliseconds since 1970; null if it is not known. */
  readonly created: number | null
  readonly started: number | null
  readonly ended: number | null
  readonly history: PodHistory
  readonly isObserved: boolean
  readonly containers: readonly ContainerFacts[]
  /** The requests and limits of the pod as a whole. */
  readonly podRequests: ComputeAmounts
  readonly podLimits: ComputeAmounts
  /** Why the use of its containers, or a part of it, is not known: whole sentences. */
  readonly missing: readonly string[]
}

/**
 * Reads the facts about a pod that the card of its run needs. The summaries of its observers are
 * the termination messages of their containers.
 *
 * @param pod a core/v1 Pod, as returned by the apiserver
 * @param metrics the names of the catalog's metrics
 */
export function readPodFacts(pod: Fields, metrics: ReadonlySet<string>): RunPod {
  const metadata = fieldsOrNone(pod.metadata)
  const spec = fieldsOrNone(pod.spec)
  const status = fieldsOrNone(pod.status)
  const { name, node, pod_index, observers } = findObservers(pod, metrics, undefined)
  const [observer] = observers
  const messages = readMessages(status, observers)
  const uses = joinSummaries(messages.flatMap(({ summary }) => summary ?? []))
  const containers = readContainers(spec, status, { observers, uses })
  const { requests, limits } = fieldsOrNone(spec.resources)
  const injected = injectedBefore(fieldsOrNone(metadata.annotations))
  const own = [...injected, ...observers.map(({ container }) => container)]
  const ours = new Set([...own, ...injected.map(installerName)])
  const phase = readPhase(status.phase)
  return {
    namespace: asText(metadata.namespace) ?? '',
    name,
    uid: asText(metadata.uid) ?? '',
    controller: readController(metadata.ownerReferences),
    revision: readRevision(metadata),
    role: readRole(metadata),
    pod_index,
    restartAttempt: readJobSetRestarts(metadata),
    indexFailures: readIndexFailures(metadata),
    phase,
    wasDeleted: metadata.deletionTimestamp !== undefined && !isTerminal(phase),
    isGone: false,
    reason: asText(status.reason) ?? null,
    node,
    created: readTime(metadata.creationTimestamp),
    ...readTimes(status, containers),
    history: readPodHistory(pod, ours),
    isObserved: observer !== undefined,
    containers,
    podRequests: readAmounts(requests, limits),
    podLimits: readAmounts(limits),
    missing: observers.length === 0 ? [] : listMissing(name, messages, containers),
  }
}

const PHASES: readonly PodPhase[] = ['Pending', 'Running', 'Succeeded', 'Failed']

/** Reports whether no container of a pod in this phase will run again. */
export function isTerminal(phase: PodPhase): boolean {
  return phase === 'Succeeded' || phase === 'Failed'
}

function readPhase(phase: unknown): PodPhase {
  return PHASES.find((known) => known === phase) ?? 'Unknown'
}

/**
 * The labels with the revision of a pod: of a Deployment (kubernetes pkg/apis/apps/types.go,
 * DefaultDeploymentUniqueLabelKey), and of a StatefulSet or a DaemonSet
 * (ControllerRevisionHashLabelKey).
 */
const REVISION_KEYS = ['pod-template-hash', 'controller-revision-hash']

function readRevision({ labels }: Fields): string | null {
  const found = REVISION_KEYS.map((key) => asText(fieldsOrNone(labels)[key]))
  return found.find((revision) => revision !== undefined) ?? null
}

/** The label of the pods of a SparkApplication (spark docs/running-on-kubernetes.md). */
const SPARK_ROLE_KEY = 'spark-role'

function readRole(metadata: Fields): string {
  const podIndex = readPodIndex(metadata)
  if (podIndex === undefined) return asText(fieldsOrNone(metadata.labels)[SPARK_ROLE_KEY]) ?? ''
  const { label, names } = podIndex
  const isRole = (name: string) => label === name || label.startsWith(`${name}-`)
  return names.find(isRole) ?? names[0] ?? ''
}

/** Returns when the containers of the application started and, if all have ended, when they did. */
function readTimes(
  status: Fields,
  containers: readonly ContainerFacts[],
): Pick<RunPod, 'started' | 'ended'> {
  const names = new Set(containers.map(({ name }) => name))
  const states = asObjects(status.containerStatuses)
    .filter(({ name }) => names.has(String(name)))
    .map(({ state }) => fieldsOrNone(state))
  const ended = states.map(({ terminated }) => fieldsOrNone(terminated))
  const starts = states.flatMap(({ running }, index) => {
    return readStart(fieldsOrNone(running).startedAt ?? ended[index]?.startedAt) ?? []
  })
  const ends = ended.flatMap(({ finishedAt }) => readTime(finishedAt) ?? [])
  const hasEnded = ends.length > 0 && ends.length === states.length
  return {
    started: starts.length === 0 ? readTime(status.startTime) : Math.min(...starts),
    ended: hasEnded ? Math.max(...ends) : null,
  }
}

import type { Controllers, ListedController } from '../collect/run-controllers.ts'
import { findKindOfGroup } from '../collect/workload-kinds.ts'
import { countLostPods, hasLostPods, type PodWithControllers } from './lost-pods.ts'
import { isTerminal, type PodPhase, type RunPod } from './pod-facts.ts'

/**
 * The phase of a run. Only an archive, which remembers pods, knows that a run was deleted before it
 * ended. Unknown: its pods were deleted while no archive watched them.
 */
export const RUN_PHASES = [
  'Pending',
  'Running',
  'Succeeded',
  'Failed',
  'Deleted',
  'Unknown',
] as const
export type RunPhase = (typeof RUN_PHASES)[number]

/** Reads a phase; undefined if it is not one. */
export function readPhase(value: unknown): RunPhase | undefined {
  return RUN_PHASES.find((known) => known === value)
}

/** Reports whether a run in this phase has ended. */
export function isOver(phase: RunPhase): boolean {
  return phase !== 'Pending' && phase !== 'Running'
}

/** One execution of a workload. */
export interface Run {
  readonly namespace: string
  /** The kind as a user names it: `job`, or a kind with its group. */
  readonly word: string
  /** The API group; empty for a pod. */
  readonly group: string
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  /** The UID of the workload, or of the ReplicaSet of a Deployment. */
  readonly uid: string
  /** The revision of a Deployment, StatefulSet or DaemonSet; otherwise null. */
  readonly revision: string | null
  readonly phase: RunPhase
  /** The pods, the earliest one first. */
  readonly pods: readonly RunPod[]
  readonly podCounts: { readonly observed: number; readonly expected: number }
  /**
   * When the workload was created or, if it was suspended, resumed; milliseconds since 1970, null
   * if that is not known.
   */
  readonly begun: number | null
  /** Whether earlier pods of the run failed and no longer exist. */
  readonly hasLostPods: boolean
  /** How many pods that failed no longer exist, as its Jobs count them. */
  readonly lostPods: number
}

/** The kinds of which each revision is a run, as GROUP/KIND. */
const REVISED = ['apps/Deployment', 'apps/StatefulSet', 'apps/DaemonSet']

/** Kinds whose runs are the workloads that they create. */
const SCHEDULES = ['batch/CronJob']

/**
 * Groups pods into runs. The run of a pod is the highest of its controllers whose kind is known,
 * otherwise its nearest controller, otherwise the pod itself. Runs without an observed pod are left
 * out.
 */
export function groupRuns(pods: readonly RunPod[], { above }: Controllers): readonly Run[] {
  const owned = pods.map((pod) => {
    const chain = above(pod.controller)
    return { pod, chain, owner: findOwner(pod, chain) }
  })
  const groups = Map.groupBy(owned, ({ pod: { namespace }, owner }) =>
    runKey({ namespace, ...owner }),
  )
  return [...groups.values()].flatMap((members) => {
    const [first] = members
    const isObserved = members.some(({ pod }) => pod.isObserved)
    return first === undefined || !isObserved ? [] : buildRun(first.owner, members)
  })
}

/** Returns a text that identifies a run in a cluster. */
export function runKey({
  namespace,
  uid,
  revision,
}: Pick<Run, 'namespace' | 'uid' | 'revision'>): string {
  return JSON.stringify([namespace, uid, revision])
}

/** Returns the identity of the run of a pod. */
export function identifyRun(pod: RunPod, { above }: Controllers) {
  return { namespace: pod.namespace, ...findOwner(pod, above(pod.controller)) }
}

/** Reports whether a run is a revision of a workload whose pods come and go. */
export function isRevision({ group, kind }: Pick<Run, 'group' | 'kind'>): boolean {
  return REVISED.includes(`${group}/${kind}`)
}

type Owner = Pick<Run, 'word' | 'group' | 'apiVersion' | 'kind' | 'name' | 'uid' | 'revision'> & {
  readonly finished: 'Succeeded' | 'Failed' | null
  readonly begun: number | null
}

function findOwner(pod: RunPod, chain: readonly ListedController[]): Owner {
  const isWanted = (one: ListedController) =>
    !SCHEDULES.includes(keyOf(one)) && findWord(one) !== undefined
  const found = chain.findLast(isWanted) ?? chain[0]
  if (found === undefined) {
    const { name, uid } = pod
    const kind = { word: 'pod', group: '', apiVersion: 'v1', kind: 'Pod' }
    return { ...kind, name, uid, revision: null, finished: null, begun: pod.created }
  }
  const { reference, group, facts } = found
  const { apiVersion, kind, name } = reference
  const isRevised = REVISED.includes(keyOf(found))
  // The ReplicaSet of a Deployment stands for one revision of it.
  const below = isRevised ? chain[0]?.reference : reference
  return {
    word: wordOfKind({ group, kind }),
    group,
    apiVersion,
    kind,
    name,
    uid: below?.uid ?? reference.uid,
    revision: isRevised ? pod.revision : null,
    finished: facts?.finished ?? null,
    begun: facts?.begun ?? null,
  }
}

function keyOf({ group, reference }: ListedController): string {
  return `${group}/${reference.kind}`
}

function findWord({ group, reference }: ListedController): string | undefined {
  return findKindOfGroup(group, reference.kind)?.word
}

/** Returns a kind as a user names it: `job`, or for a kind that is not known, with its group. */
export function wordOfKind({ group, kind }: Pick<Run, 'group' | 'kind'>): string {
  const lower = kind.toLowerCase()
  return findKindOfGroup(group, kind)?.word ?? (group === '' ? lower : `${lower}.${group}`)
}

function buildRun({ finished, ...owner }: Owner, members: readonly PodWithControllers[]): Run {
  const sorted = members.toSorted((a, b) => (a.pod.created ?? 0) - (b.pod.created ?? 0))
  const pods = sorted.map(({ pod }) => pod)
  return {
    namespace: pods[0]?.namespace ?? '',
    ...owner,
    phase: finished ?? findPhase(owner, sorted),
    pods,
    podCounts: countPods(members),
    hasLostPods: hasLostPods(members),
    lostPods: countLostPods(members),
  }
}

/** Finds the phase of a run in the last pod of each index. */
function findPhase(
  owner: Pick<Owner, 'group' | 'kind'>,
  members: readonly PodWithControllers[],
): RunPhase {
  const pods = members.map(({ pod }) => pod)
  const read = isRevision(owner) ? phaseOfReplica : phaseOf
  const last = groupByIndex(pods).flatMap((own) => own.slice(-1).map(read))
  if (last.every((phase) => phase === 'Pending')) return 'Pending'
  if (!last.every((phase) => phase === 'Deleted' || isTerminal(phase))) return 'Running'
  if (mayCreateMore(owner, members)) return 'Running'
  if (hasSucceeded(members, last)) return 'Succeeded'
  return last.includes('Failed') ? 'Failed' : 'Deleted'
}

/** Returns the phase of a pod, or Deleted if it was deleted before it ended. */
function phaseOf({ phase, wasDeleted, isGone }: RunPod): PodPhase | 'Deleted' {
  const isDeleted = wasDeleted ? isGone || isTerminal(phase) : isGone && !isTerminal(phase)
  return isDeleted ? 'Deleted' : phase
}

/** A pod of a revision ends by being deleted, when it is scaled or replaced. */
function phaseOfReplica(pod: RunPod): PodPhase | 'Deleted' {
  const phase = phaseOf(pod)
  return phase === 'Deleted' ? 'Succeeded' : phase
}

/** A Job of Kubernetes says when it has ended. Until then, it may create another pod. */
function mayCreateMore(
  { group, kind }: Pick<Owner, 'group' | 'kind'>,
  [first]: readonly PodWithControllers[],
) {
  const isGone = first?.chain[0]?.facts?.isGone ?? true
  return group === 'batch' && kind === 'Job' && !isGone
}

/**
 * Reports whether enough pods have succeeded. A Job without indexes may have tried a pod again, and
 * does not say so any more if it is gone.
 */
function hasSucceeded(
  [first]: readonly PodWithControllers[],
  last: readonly (PodPhase | 'Deleted')[],
): boolean {
  const count = last.filter((phase) => phase === 'Succeeded').length
  const declared = first?.pod.pod_index === null ? (first.chain[0]?.facts?.pods ?? null) : null
  const isSingle = first?.chain.length === 1
  return count >= (declared !== null && isSingle ? declared : last.length)
}

/**
 * Groups the pods of a run by index. A pod and its retry have the same index and controller, or one
 * of the same name: a JobSet that restarts creates its Jobs again. A pod without a known index is a
 * group of its own.
 */
export function groupByIndex(pods: readonly RunPod[]): readonly (readonly RunPod[])[] {
  const key = ({ uid, name, pod_index, controller }: RunPod) =>
    JSON.stringify(
      pod_index === null ? [uid, name] : [controller?.kind, controller?.name, pod_index],
    )
  return [...Map.groupBy(pods, key).values()]
}

/**
 * Counts the pods. A Job of Kubernetes says how many it has, so that pods that do not exist yet,
 * or no longer, count too. A Job without indexes may have tried a pod again.
 */
function countPods(members: readonly PodWithControllers[]): Run['podCounts'] {
  const byController = Map.groupBy(members, ({ pod }) => pod.controller?.uid)
  const counts = [...byController.values()].map((own) => {
    const pods = own.map(({ pod }) => pod)
    const groups = groupByIndex(pods)
    const declared = own[0]?.chain[0]?.facts?.pods ?? null
    const isIndexed = pods.some(({ pod_index }) => pod_index !== null)
    const expected =
      declared === null ? groups.length : isIndexed ? Math.max(declared, groups.length) : declared
    const observed = groups.filter((group) => group.some(({ isObserved }) => isObserved)).length
    return { observed: Math.min(observed, expected), expected }
  })
  const sum = (name: 'observed' | 'expected') => counts.reduce((all, one) => all + one[name], 0)
  return { observed: sum('observed'), expected: sum('expected') }
}

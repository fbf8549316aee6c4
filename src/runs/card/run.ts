import type { Controllers, ListedController } from '../collect/run-controllers.ts'
import { findKindOfGroup } from '../collect/workload-kinds.ts'
import type { RunPod } from './pod-facts.ts'

export type RunPhase = 'Pending' | 'Running' | 'Succeeded' | 'Failed'

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
  readonly ranks: { readonly observed: number; readonly expected: number }
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
  const groups = Map.groupBy(owned, ({ pod, owner }) => {
    return JSON.stringify([pod.namespace, owner.uid, owner.revision])
  })
  return [...groups.values()].flatMap((members) => {
    const [first] = members
    const isObserved = members.some(({ pod }) => pod.isObserved)
    return first === undefined || !isObserved ? [] : buildRun(first.owner, members)
  })
}

type Owner = Pick<Run, 'word' | 'group' | 'apiVersion' | 'kind' | 'name' | 'uid' | 'revision'> & {
  readonly finished: 'Succeeded' | 'Failed' | null
}

interface Member {
  readonly pod: RunPod
  readonly chain: readonly ListedController[]
}

function findOwner(pod: RunPod, chain: readonly ListedController[]): Owner {
  const isWanted = (one: ListedController) =>
    !SCHEDULES.includes(keyOf(one)) && findWord(one) !== undefined
  const found = chain.findLast(isWanted) ?? chain[0]
  if (found === undefined) {
    const { name, uid } = pod
    const kind = { word: 'pod', group: '', apiVersion: 'v1', kind: 'Pod' }
    return { ...kind, name, uid, revision: null, finished: null }
  }
  const { reference, group, facts } = found
  const { apiVersion, kind, name } = reference
  const isRevised = REVISED.includes(keyOf(found))
  // The ReplicaSet of a Deployment stands for one revision of it.
  const below = isRevised ? chain[0]?.reference : reference
  return {
    word: wordOf(found),
    group,
    apiVersion,
    kind,
    name,
    uid: below?.uid ?? reference.uid,
    revision: isRevised ? pod.revision : null,
    finished: facts?.finished ?? null,
  }
}

function keyOf({ group, reference }: ListedController): string {
  return `${group}/${reference.kind}`
}

function findWord({ group, reference }: ListedController): string | undefined {
  return findKindOfGroup(group, reference.kind)?.word
}

function wordOf(controller: ListedController): string {
  const kind = controller.reference.kind.toLowerCase()
  const other = controller.group === '' ? kind : `${kind}.${controller.group}`
  return findWord(controller) ?? other
}

function buildRun({ finished, ...owner }: Owner, members: readonly Member[]): Run {
  const sorted = members.toSorted((a, b) => (a.pod.created ?? 0) - (b.pod.created ?? 0))
  const pods = sorted.map(({ pod }) => pod)
  return {
    namespace: pods[0]?.namespace ?? '',
    ...owner,
    phase: finished ?? findPhase(pods, isUnfinishedJob(owner, members)),
    pods,
    ranks: countRanks(members),
  }
}

/** A Job of Kubernetes says when it has ended. Until then, it may create another pod. */
function isUnfinishedJob({ group, kind }: Omit<Owner, 'finished'>, [first]: readonly Member[]) {
  return group === 'batch' && kind === 'Job' && first?.chain[0]?.facts !== undefined
}

/** Finds the phase of a run in the last pod of each rank. */
function findPhase(pods: readonly RunPod[], mayCreateMore: boolean): RunPhase {
  const last = groupByRank(pods).flatMap((own) => own.at(-1)?.phase ?? [])
  if (last.every((phase) => phase === 'Pending')) return 'Pending'
  const isOver = last.every((phase) => phase === 'Succeeded' || phase === 'Failed')
  if (!isOver || mayCreateMore) return 'Running'
  return last.includes('Failed') ? 'Failed' : 'Succeeded'
}

/**
 * Groups the pods of a run by rank. A pod and its retry have the same rank and the same controller.
 * A pod without a known rank is a rank of its own.
 */
export function groupByRank(pods: readonly RunPod[]): readonly (readonly RunPod[])[] {
  const key = ({ uid, name, rank, controller }: RunPod) =>
    JSON.stringify(rank === null ? [uid, name] : [controller?.uid, rank])
  return [...Map.groupBy(pods, key).values()]
}

/**
 * Counts the ranks. A Job of Kubernetes says how many it has, so that pods that do not exist yet,
 * or no longer, count too. A Job without indexes may have tried a pod again.
 */
function countRanks(members: readonly Member[]): Run['ranks'] {
  const byController = Map.groupBy(members, ({ pod }) => pod.controller?.uid)
  const counts = [...byController.values()].map((own) => {
    const pods = own.map(({ pod }) => pod)
    const ranks = groupByRank(pods)
    const declared = own[0]?.chain[0]?.facts?.ranks ?? null
    const isIndexed = pods.some(({ rank }) => rank !== null)
    const expected =
      declared === null ? ranks.length : isIndexed ? Math.max(declared, ranks.length) : declared
    const observed = ranks.filter((rank) => rank.some(({ isObserved }) => isObserved)).length
    return { observed: Math.min(observed, expected), expected }
  })
  const sum = (name: 'observed' | 'expected') => counts.reduce((all, one) => all + one[name], 0)
  return { observed: sum('observed'), expected: sum('expected') }
}

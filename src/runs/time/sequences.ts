import type { RunPod } from '../facts/pod-facts.ts'
import { endOf } from './pod-pieces.ts'

/** Pods that followed each other in the same place of a workload, the earliest one first. */
export type PodSequence = readonly RunPod[]

/**
 * Groups the pods of a run by their place in the workload. A pod replaces the pod before it with
 * the same index or name. A pod with another index, or without one, takes the place of a pod of its
 * controller that has ended before: a Job creates such pods when others have ended.
 *
 * A controller that was deleted and created again, such as the Jobs of a JobSet that restarts, has
 * the same name.
 */
export function groupSequences(pods: readonly RunPod[]): readonly PodSequence[] {
  const places = new Map<string, RunPod[]>()
  const takeFree = freePlaces(pods, places)
  const found = pods
    .toSorted((a, b) => createdOf(a) - createdOf(b))
    .map((pod) => {
      const key = keyOf(pod)
      const place = places.get(key) ?? takeFree(pod) ?? []
      place.push(pod)
      places.set(key, place)
      return place
    })
  return [...new Set(found)]
}

function createdOf({ created }: RunPod): number {
  return created ?? 0
}

const NEVER = Number.POSITIVE_INFINITY

/**
 * Returns a function that takes the place of a pod that ended before another one was created. It is
 * called with pods in the order of their creation.
 *
 * @param places by the key of the last pod in each of them
 */
function freePlaces(
  pods: readonly RunPod[],
  places: Map<string, RunPod[]>,
): (pod: RunPod) => RunPod[] | undefined {
  const free = new Map<string, RunPod[]>()
  const leaving = pods.filter(mayLeavePlace).toSorted((a, b) => leftAt(b) - leftAt(a))
  const advance = (now: number) => {
    for (let next = leaving.at(-1); next !== undefined && leftAt(next) <= now; ) {
      leaving.pop()
      const others = free.get(controllerOf(next)) ?? []
      others.push(next)
      free.set(controllerOf(next), others)
      next = leaving.at(-1)
    }
  }
  return (pod) => {
    advance(createdOf(pod))
    const others = free.get(controllerOf(pod)) ?? []
    for (let left = others.pop(); left !== undefined; left = others.pop()) {
      const key = keyOf(left)
      const place = places.get(key)
      if (place?.at(-1) !== left) continue
      places.delete(key)
      return place
    }
    return undefined
  }
}

/** A pod with an index that has failed is created again with this index. */
function mayLeavePlace({ phase, pod_index }: RunPod): boolean {
  return phase === 'Succeeded' || pod_index === null
}

function leftAt(pod: RunPod): number {
  return endOf(pod) ?? NEVER
}

function controllerOf({ controller, uid }: RunPod): string {
  return controller === undefined ? uid : JSON.stringify([controller.kind, controller.name])
}

function keyOf(pod: RunPod): string {
  const { pod_index, name, role } = pod
  return JSON.stringify([controllerOf(pod), role, pod_index === null ? name : [pod_index]])
}

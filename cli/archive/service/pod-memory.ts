import type { Collection } from '../../../src/cluster/reflect/reflector.ts'
import type { RunningObserver } from '../../../src/runs/collect/observers.ts'
import { isTerminal, type RunPod } from '../../../src/runs/facts/pod-facts.ts'
import { joinHistories } from '../../../src/runs/facts/pod-history.ts'
import { collectKeys } from './watched-keys.ts'
import type { WatchedPod } from './watched-pod.ts'

/** The pods of runs that are not yet archived, with the last states of those that are gone. */
export interface PodMemory {
  /** The number of remembered pods. */
  readonly size: number
  /** Whether pods have changed since the last call of `takeChanged`. */
  readonly hasChanged: boolean
  get(uid: string): RunPod | undefined
  /** Returns the observers of a pod, if their logs are kept. */
  observersOf(uid: string): readonly RunningObserver[]
  /** Creates the collection of one watch. */
  collect(): Collection<WatchedPod>
  /** Returns the UIDs of the pods that have changed since the last call. */
  takeChanged(): readonly string[]
  /** Returns a pod with the next changed ones again, because it could not be handled. */
  putBack(uid: string): void
  /** Forgets a pod. If it still exists and has ended, it is not remembered again. */
  release(uid: string): void
}

/** @param onChange is called at once with the UID of a pod that has changed */
export function createPodMemory(onChange: (uid: string) => void): PodMemory {
  const pods = new Map<string, WatchedPod>()
  /** The pods of archived runs that still exist. */
  const released = new Set<string>()
  let changed = new Set<string>()
  const set = (uid: string, remembered: WatchedPod) => {
    pods.set(uid, remembered)
    changed.add(uid)
    onChange(uid)
  }
  const put = ({ resourceVersion, pod, observers }: WatchedPod) => {
    const before = pods.get(pod.uid)
    if (before?.resourceVersion === resourceVersion) return
    if (released.has(pod.uid) && isTerminal(pod.phase)) return
    released.delete(pod.uid)
    set(pod.uid, { resourceVersion, pod: rememberPod(before?.pod, pod), observers })
  }
  const lose = (uid: string) => {
    const last = pods.get(uid)
    if (!released.delete(uid) && last !== undefined && !last.pod.isGone)
      set(uid, { ...last, pod: rememberGone(last.pod) })
  }
  return {
    get size() {
      return pods.size
    },
    get hasChanged() {
      return changed.size > 0
    },
    get: (uid) => pods.get(uid)?.pod,
    observersOf: (uid) => pods.get(uid)?.observers ?? [],
    collect: () => collectKeys({ keyOf: ({ pod }) => pod.uid, put, lose }),
    takeChanged() {
      const taken = [...changed]
      changed = new Set()
      return taken
    },
    putBack: (uid) => changed.add(uid),
    release(uid) {
      if (pods.get(uid)?.pod.isGone === false) released.add(uid)
      pods.delete(uid)
    },
  }
}

/**
 * Returns the state of a pod to remember: the new one, with what only the states before it show. A
 * pod whose containers have ended does not show whether they did so before its deletion was
 * requested. A pod of a deleted workload can lose its controller (`--cascade=orphan`).
 */
export function rememberPod(before: RunPod | undefined, now: RunPod): RunPod {
  if (before === undefined) return now
  const wasDeleted = now.wasDeleted || before.wasDeleted
  const history = joinHistories(before.history, now.history)
  return { ...now, wasDeleted, controller: before.controller, history }
}

/** Returns the last state of a pod that does not exist any more. */
export function rememberGone(last: RunPod): RunPod {
  return { ...last, isGone: true }
}

import type { Collection } from '../../../src/cluster/reflect/reflector.ts'
import { rememberGone, rememberPod } from '../../../src/runs/archive/remember-pod.ts'
import { isTerminal, type RunPod } from '../../../src/runs/card/pod-facts.ts'
import { collectKeys } from './watched-keys.ts'
import type { WatchedPod } from './watched-pod.ts'

/** The pods of runs that are not yet archived, with the last states of those that are gone. */
export interface PodMemory {
  /** The number of remembered pods. */
  readonly size: number
  get(uid: string): RunPod | undefined
  /** Creates the collection of one watch. */
  collect(): Collection<WatchedPod>
  /** Returns the UIDs of the pods that have changed since the last call. */
  takeChanged(): readonly string[]
  /** Returns a pod with the next changed ones again, because it could not be handled. */
  putBack(uid: string): void
  /** Forgets a pod. If it still exists and has ended, it is not remembered again. */
  release(uid: string): void
}

interface Remembered {
  readonly resourceVersion: string
  readonly pod: RunPod
}

export function createPodMemory(): PodMemory {
  const pods = new Map<string, Remembered>()
  /** The pods of archived runs that still exist. */
  const released = new Set<string>()
  let changed = new Set<string>()
  const set = (uid: string, remembered: Remembered) => {
    pods.set(uid, remembered)
    changed.add(uid)
  }
  const put = ({ resourceVersion, pod }: WatchedPod) => {
    const before = pods.get(pod.uid)
    if (before?.resourceVersion === resourceVersion) return
    if (released.has(pod.uid) && isTerminal(pod.phase)) return
    released.delete(pod.uid)
    set(pod.uid, { resourceVersion, pod: rememberPod(before?.pod, pod) })
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
    get: (uid) => pods.get(uid)?.pod,
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

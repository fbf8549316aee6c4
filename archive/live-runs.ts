import type { RunPod } from '../src/runs/card/pod-facts.ts'
import { runKeyOf } from '../src/runs/card/run.ts'
import type { ControllerMemory } from './controller-memory.ts'
import { createLiveRun, type LiveRun } from './live-run.ts'
import type { PodMemory } from './pod-memory.ts'

/** The runs whose pods are remembered. */
export interface LiveRuns {
  readonly size: number
  all(): Iterable<LiveRun>
  has(key: string): boolean
  podsOf(run: LiveRun): readonly RunPod[]
  /**
   * Adds a changed pod to its run, whose controllers are read if they are not known.
   *
   * @returns the run; undefined if the pod is not remembered
   * @throws ApiError, or a network error
   */
  add(uid: string): Promise<LiveRun | undefined>
  /** Forgets a run, its pods, and the controllers above them. */
  release(run: LiveRun): void
}

export function createLiveRuns(memory: PodMemory, controllers: ControllerMemory): LiveRuns {
  const runs = new Map<string, LiveRun>()
  const keys = new Map<string, string>()
  const podsOf = ({ pods }: LiveRun) => [...pods].flatMap((uid) => memory.get(uid) ?? [])
  const findRun = async (pod: RunPod) => {
    const known = runs.get(keys.get(pod.uid) ?? '')
    if (known !== undefined) return known
    await controllers.resolve(pod)
    const key = runKeyOf(pod, controllers.in(pod.namespace))
    const run = runs.get(key) ?? createLiveRun(key, pod.namespace)
    runs.set(key, run)
    run.pods.add(pod.uid)
    keys.set(pod.uid, key)
    return run
  }
  return {
    get size() {
      return runs.size
    },
    all: () => runs.values(),
    has: (key) => runs.has(key),
    podsOf,
    async add(uid) {
      const pod = memory.get(uid)
      return pod === undefined ? undefined : findRun(pod)
    },
    release(run) {
      controllers.forget(podsOf(run))
      runs.delete(run.key)
      for (const uid of run.pods) {
        keys.delete(uid)
        memory.release(uid)
      }
    },
  }
}

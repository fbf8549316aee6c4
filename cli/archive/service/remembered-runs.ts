import { nameRun } from '../../../src/runs/archive/run-name.ts'
import type { RunPod } from '../../../src/runs/facts/pod-facts.ts'
import { identifyRun, runKey } from '../../../src/runs/facts/run.ts'
import type { ControllerMemory } from './controller-memory.ts'
import type { PodMemory } from './pod-memory.ts'
import { createRememberedRun, type RememberedRun } from './remembered-run.ts'

/** The runs whose pods are remembered. */
export interface RememberedRuns {
  readonly size: number
  all(): Iterable<RememberedRun>
  has(key: string): boolean
  get(key: string): RememberedRun | undefined
  /** Returns the run of a pod that was added before. */
  find(uid: string): RememberedRun | undefined
  podsOf(run: RememberedRun): readonly RunPod[]
  /**
   * Adds a changed pod to its run, whose controllers are read if they are not known.
   *
   * @returns the run; undefined if the pod is not remembered
   * @throws ApiError, or a network error
   */
  add(uid: string): Promise<RememberedRun | undefined>
  /** Forgets a run, its pods, and the controllers above them. */
  release(run: RememberedRun): void
}

export function createRememberedRuns(
  memory: PodMemory,
  controllers: ControllerMemory,
): RememberedRuns {
  const runs = new Map<string, RememberedRun>()
  const keys = new Map<string, string>()
  const podsOf = ({ pods }: RememberedRun) => [...pods].flatMap((uid) => memory.get(uid) ?? [])
  const find = (uid: string) => runs.get(keys.get(uid) ?? '')
  const findRun = async (pod: RunPod) => {
    const known = find(pod.uid)
    if (known !== undefined) return known
    await controllers.resolve(pod)
    const identity = identifyRun(pod, controllers.in(pod.namespace))
    const { namespace, word } = identity
    const [key, name] = [runKey(identity), nameRun(identity)]
    const title = `${word}/${identity.name} in ${namespace}`
    const run = runs.get(key) ?? createRememberedRun({ key, namespace, name, title })
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
    get: (key) => runs.get(key),
    find,
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

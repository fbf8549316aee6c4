import { listPodControllers } from '../../src/runs/collect/run-pods.ts'
import type { WorkloadPods } from '../../src/runs/collect/workload-pods.ts'
import type { CollectedTime } from '../../src/runs/time/collected-time.ts'
import { measureWorkload } from '../../src/runs/time/workload-time.ts'
import type { FoundPod } from '../shared/workload-pods.ts'

/** Returns where the time of a run went until its pods were listed; null if it is not known. */
export type ReadTime = (pods: readonly FoundPod[]) => Promise<CollectedTime | null>

/**
 * Returns a function that measures the time of a workload, and lists the controllers of its pods
 * once for each list of pods. Without the right to list them, the time is not known.
 */
export function timeReader({
  apiserver,
  namespace,
  words,
}: Pick<WorkloadPods, 'apiserver' | 'namespace' | 'words'>): ReadTime {
  const known = new WeakMap<readonly FoundPod[], Promise<CollectedTime | null>>()
  const measure = async (pods: readonly FoundPod[]) => {
    const facts = pods.map((pod) => pod.facts)
    const now = Date.now()
    const controllers = await listPodControllers({ apiserver, namespace }, facts)
    return measureWorkload(facts, controllers, words, now)
  }
  return (pods) => {
    // The logs can be collected without the controllers.
    const measured = known.get(pods) ?? measure(pods).catch(() => null)
    known.set(pods, measured)
    return measured
  }
}

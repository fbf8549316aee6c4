import { maximum } from '../../lib/statistics.ts'
import type { ComputeAmounts, ContainerFacts } from '../facts/container-facts.ts'
import type { RunPod } from '../facts/pod-facts.ts'
import { groupByIndex } from '../facts/run.ts'
import type { ContainerUse } from '../log/container-use.ts'

/** The use of a pod and of its retries. A value that is not known is null. */
export interface PodUse {
  readonly role: string
  /** The index, or the name of the pod if it has none. */
  readonly name: string
  readonly pods: readonly RunPod[]
  /** The containers whose use is known, of all these pods. */
  readonly containers: readonly ContainerFacts[]
  readonly seconds: number | null
  /** CPU seconds. */
  readonly cpu: number | null
  /** Processors in use, on average over the time of the pod. */
  readonly cores: number | null
  /** The peaks of the memory of its containers, added, of the pod with the most. */
  readonly memoryPeak: number | null
  /** Of the containers whose use is known; of all if none is. Null if one of them has none. */
  readonly requests: ComputeAmounts
  readonly limits: ComputeAmounts
  readonly throttled: number | null
  readonly runDelay: number | null
  /** The time in which all processes of a container waited for storage. */
  readonly storage: number | null
}

/** Returns the use of each pod of a run. */
export function listPodUses(pods: readonly RunPod[]): readonly PodUse[] {
  return groupByIndex(pods.filter(({ isObserved }) => isObserved)).flatMap((own) => {
    const last = own.at(-1)
    return last === undefined ? [] : measurePod(own, last)
  })
}

function measurePod(pods: readonly RunPod[], last: RunPod): PodUse {
  const containers = pods.flatMap(knownIn)
  const sum = (read: (use: ContainerUse) => number | null) =>
    sumKnown(containers.map(({ use }) => (use === null ? null : read(use))))
  const cpu = sum((use) => use.cpu)
  const seconds = sumKnown(pods.filter((pod) => knownIn(pod).length > 0).map(secondsOf))
  const lastWithUse = pods.findLast((pod) => knownIn(pod).length > 0) ?? last
  return {
    role: last.role,
    name: last.pod_index ?? last.name,
    pods,
    containers,
    seconds,
    cpu,
    cores: cpu === null || seconds === null || seconds <= 0 ? null : cpu / seconds,
    memoryPeak: maximum(pods.map(memoryOf)),
    requests: amountsOf(lastWithUse, 'requests', 'podRequests'),
    limits: amountsOf(lastWithUse, 'limits', 'podLimits'),
    throttled: sum((use) => use.throttled),
    runDelay: sum((use) => use.runDelay),
    storage: sumKnown(pods.filter((pod) => knownIn(pod).length > 0).map(storageOf)),
  }
}

function knownIn({ containers }: RunPod): readonly ContainerFacts[] {
  return containers.filter(({ use }) => use !== null)
}

/** Returns the seconds of the container that ran for the longest time. */
function secondsOf(pod: RunPod): number | null {
  return maximum(knownIn(pod).map(({ use, lifetime }) => use?.seconds ?? lifetime))
}

/** Returns the seconds of the container that waited for storage the longest. */
function storageOf(pod: RunPod): number | null {
  const waits = knownIn(pod).map(({ use }) => use?.storage ?? null)
  return waits.includes(null) ? null : maximum(waits)
}

function memoryOf(pod: RunPod): number | null {
  return sumKnown(knownIn(pod).map(({ use }) => use?.memoryPeak ?? null))
}

function amountsOf(
  pod: RunPod,
  name: 'requests' | 'limits',
  whole: 'podRequests' | 'podLimits',
): ComputeAmounts {
  const known = knownIn(pod)
  const containers = known.length > 0 ? known : pod.containers
  const add = (resource: keyof ComputeAmounts) =>
    sumKnown(containers.map((container) => container[name][resource])) ?? pod[whole][resource]
  return { cpu: add('cpu'), memory: add('memory') }
}

/** Adds numbers; null if one of them is not known, or there are none. */
export function sumKnown(values: readonly (number | null)[]): number | null {
  if (values.length === 0) return null
  return values.reduce<number | null>((all, value) => {
    return all === null || value === null ? null : all + value
  }, 0)
}

import type { SectionColumns } from '../evidence/evidence.ts'
import { growthOf, type PodEvidence } from '../evidence/run-evidence.ts'
import { PROCESS_SAMPLES } from '../metrics/usual-sections.ts'
import { percentOf } from '../rules/time-lost.ts'
import { overlap, type Placed, placedIn } from './placed-process.ts'

/** How many threads each process had. */
export const THREADS = {
  ...PROCESS_SAMPLES,
  columns: ['threads'],
} as const satisfies SectionColumns

/** Who used the processors for which threads waited, as sentences name it. */
export const POD_ITSELF = 'the pod has more busy threads than processors'
export const OTHERS = 'processes outside of the pod used its processors'

/** The processors for which the threads of a pod waited. */
export interface ProcessorUse {
  /** How many processors the threads may use. */
  readonly allowed: number
  /** How much of them the pod used, in percent, while the threads could use them. */
  readonly used: number
  /** Who used them; undefined if the rows do not show it. */
  readonly cause: typeof POD_ITSELF | typeof OTHERS | undefined
}

/** The part of the processors, in percent, from which nearly all of their time was the pod's. */
const ALMOST_ALL = 90

/**
 * Returns who used the processors for which the process waited that waited the longest; undefined
 * if it is not known on which ones it may run.
 *
 * A thread waits only while each processor on which it may run executes another thread. The pod
 * executed threads on all of them for at most its CPU time divided by their number. A process
 * waited for at least its waiting divided by the number of its threads. If the former is at most
 * half of the latter, processes outside of the pod used the processors for most of the time.
 */
export function processorUse(pod: PodEvidence): ProcessorUse | undefined {
  const all = placedIn(pod)
  const [longest] = [...all].sort((a, b) => waitedBy(b) - waitedBy(a))
  if (longest === undefined) return undefined
  const { process, cpus, count: allowed } = longest
  const time = allowed * (process.to - process.from)
  const used = percentOf(
    ranDuring(
      longest,
      all.filter((one) => one.cpus === cpus),
    ),
    time,
  )
  const filled = ranDuring(longest, all) / allowed
  const threads = threadsOf(pod, longest)
  const isOthers = threads !== null && filled <= waitedBy(longest) / threads / 2
  const cause = used >= ALMOST_ALL ? POD_ITSELF : isOthers ? OTHERS : undefined
  return { allowed, used, cause }
}

function waitedBy({ process }: Placed): number {
  return growthOf(process, 'run_delay') ?? 0
}

/** Returns the CPU seconds of processes during the life of one of them. */
function ranDuring({ process }: Placed, all: readonly Placed[]): number {
  return all.reduce((sum, other) => {
    return sum + (growthOf(other.process, 'cpu_time') ?? 0) * overlap(other.process, process)
  }, 0)
}

/** Returns the most threads that a process had; null if they were not read. */
function threadsOf(pod: PodEvidence, { process: { container, program, pid } }: Placed) {
  const own = pod.things(THREADS).find((one) => {
    return one.pid === pid && one.program === program && one.container === container
  })
  return own?.readings.get('threads')?.most ?? null
}

import type { SectionColumns, Thing, ThingOf } from '../evidence/evidence.ts'
import { lastOf, type PodEvidence } from '../evidence/run-evidence.ts'
import { PLACEMENTS, PROCESS_COUNTERS } from '../metrics/usual-sections.ts'

/** The counters of running and of waiting for a processor, of each process. */
export const RUNNING_COUNTERS = {
  ...PROCESS_COUNTERS,
  columns: ['run_delay', 'cpu_time'],
} as const satisfies SectionColumns
/** The processors on which each process may run. */
export const ALLOWED = {
  ...PLACEMENTS,
  columns: ['cpus_allowed', 'cpus_allowed_count'],
} as const satisfies SectionColumns

/** A process, and the processors on which it may run: as a list, and how many these are. */
export interface Placed {
  readonly pod: PodEvidence
  readonly process: ThingOf<typeof RUNNING_COUNTERS>
  readonly cpus: string
  readonly count: number
}

/** Returns the processes of a pod whose processors are known. */
export function placedIn(pod: PodEvidence): readonly Placed[] {
  const placements = new Map(pod.things(ALLOWED).map((thing) => [idOf(thing), thing] as const))
  return pod.things(RUNNING_COUNTERS).flatMap((process) => {
    const own = placements.get(idOf(process))
    const cpus = own?.readings.get('cpus_allowed')?.text ?? null
    const count = own === undefined ? null : lastOf(own, 'cpus_allowed_count')
    return cpus === null || count === null ? [] : [{ pod, process, cpus, count }]
  })
}

/** Identifies a process in all sections of the rows of its pod. */
function idOf({ source, container, program, pid }: Thing): string {
  return `${source}\n${container}\n${program}\n${pid}`
}

/** Returns the part of the first process's life in which the second one existed, from 0 to 1. */
export function overlap(first: Thing, second: Thing): number {
  const [from, to] = timesOf(first)
  const [otherFrom, otherTo] = timesOf(second)
  const both = Math.min(to, otherTo) - Math.max(from, otherFrom)
  return to > from ? Math.max(both, 0) / (to - from) : 0
}

/**
 * Returns the start and the end of a process in seconds since 1970, to compare processes of several
 * logs; in seconds since the first timepoint of the log if the rows have no dates.
 */
export function timesOf({ startedAt, from, to }: Thing): readonly [number, number] {
  const start = startedAt ?? from
  return [start, start + to - from]
}

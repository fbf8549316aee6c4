import { chooseSource } from '../../core/rules/choose-source.ts'
import {
  type Need,
  need,
  type PlottedColumn,
  plot,
  type SectionColumns,
  type Thing,
} from '../evidence/evidence.ts'
import { growthOf, type PodEvidence } from '../evidence/run-evidence.ts'
import { PERF_SYSSTAT } from './perf-sysstat/metric.ts'
import { PRESSURE } from './pressure/metric.ts'

const PROCESS = {
  metric: PRESSURE.name,
  section: 'process',
  columns: ['cpu_time'],
} as const satisfies SectionColumns
const PERF = {
  metric: PERF_SYSSTAT.name,
  section: 'process',
  columns: ['percent_cpu'],
} as const satisfies SectionColumns

/** The CPU time of processes, from perf-sysstat or from pressure. */
export const PROCESSOR_TIME_NEEDS: readonly (readonly Need[])[] = [
  [need(PERF, 'percent_cpu')],
  [need(PROCESS, 'cpu_time')],
]

/** The columns of these needs. */
export const PROCESSOR_TIME_READS: readonly SectionColumns[] = [PERF, PROCESS]

/** The CPU time over time. */
export const PROCESSOR_TIME_PLOTS: readonly PlottedColumn[] = [
  plot(PERF, 'percent_cpu'),
  plot(PROCESS, 'cpu_time'),
]

/** The CPU time of a process. */
export interface ProcessorTime {
  readonly thing: Thing
  /** CPU seconds since the first sample of the log. */
  readonly seconds: number
  /** The longest time, in seconds, in which any of its threads can have computed. */
  readonly busy: number
}

/**
 * Returns the CPU time of each process of a pod, from the metric that measured it for the longest
 * time; if several did, from the first in the catalog.
 */
export function processorTimes(pod: PodEvidence): readonly ProcessorTime[] {
  const sources = [sampledTimes(pod), countedTimes(pod)].map((times) => ({
    times,
    seconds: coveredBy(times),
  }))
  const longest = Math.max(...sources.map(({ seconds }) => seconds))
  const chosen = chooseSource(
    sources.map(({ times, seconds }, order) => ({
      times,
      isKnown: times.length > 0,
      isCounted: true,
      coversEnded: false,
      isTotal: false,
      isWhole: seconds >= WHOLE * longest,
      order,
    })),
  )
  return chosen?.source.times ?? []
}

/** The part of the longest measurement from which another one is as long. */
const WHOLE = 0.9

function coveredBy(times: readonly ProcessorTime[]): number {
  const ends = times.map(({ thing }) => thing.to - Math.min(thing.from, 0))
  return ends.reduce((most, one) => Math.max(most, one), 0)
}

function sampledTimes(pod: PodEvidence): readonly ProcessorTime[] {
  return pod.things(PERF).flatMap((thing) => {
    const reading = thing.readings.get('percent_cpu')
    if (reading === undefined || reading.last === null) return []
    return [{ thing, seconds: reading.sum / 100, busy: reading.capped }]
  })
}

function countedTimes(pod: PodEvidence): readonly ProcessorTime[] {
  return pod.things(PROCESS).flatMap((thing) => {
    const seconds = growthOf(thing, 'cpu_time')
    const busy = thing.readings.get('cpu_time')?.capped ?? 0
    return seconds === null ? [] : [{ thing, seconds, busy }]
  })
}

/** Returns the CPU seconds of a pod by program. */
export function timeByProgram(pod: PodEvidence): ReadonlyMap<string, number> {
  const programs = new Map<string, number>()
  for (const { thing, seconds } of processorTimes(pod)) {
    const program = thing.program ?? '?'
    programs.set(program, (programs.get(program) ?? 0) + seconds)
  }
  return programs
}

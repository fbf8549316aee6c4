import { PERF_SYSSTAT } from './perf-sysstat/metric.ts'
import { PRESSURE } from './pressure/metric.ts'
import { VITALS } from './vitals/metric.ts'

// The sections that rules about all runs read, and the efficiency. Other metrics stand for them.

/** The processes, with counters since their start. */
export const PROCESS_COUNTERS = { metric: PRESSURE.name, section: 'process' } as const
/** The processes, with rates between samples. */
export const PROCESS_SAMPLES = { metric: PERF_SYSSTAT.name, section: 'process' } as const
/** The processes, with the processors and the memory that they use, and their libraries. */
export const PLACEMENTS = { metric: PRESSURE.name, section: 'placement' } as const
export const CONTAINERS = { metric: PRESSURE.name, section: 'container' } as const

/** The metrics with counters of processes and containers, the first the one that knows most. */
export const COUNTING_METRICS: readonly string[] = [PRESSURE.name, VITALS.name]

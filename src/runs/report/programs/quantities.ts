import type { Conversion } from '../../../core/rules/quantity.ts'

/** A total of the processes of a program. */
export interface TotalQuantity {
  /** The quantity of the column in a summary. */
  readonly quantity: string
  /** The quantity of the samples from which the total is computed without a summary. */
  readonly sampled: string
  readonly unit: Conversion['unit']
  /** How the totals of several processes, or of several containers, become one. */
  readonly join: 'sum' | 'greatest'
}

const DISK = 'process.disk.io{disk.io.direction='

const sumOf = (quantity: string, unit: Conversion['unit']): TotalQuantity => {
  return { quantity, sampled: quantity, unit, join: 'sum' }
}

/** The totals of a program. Their numbers are in seconds, bytes, and counts. */
export const TOTALS = {
  processes: sumOf('ridealong.process.count', 'count'),
  cpuSeconds: sumOf('process.cpu.time', 's'),
  peakBytes: {
    quantity: 'ridealong.process.memory.peak',
    sampled: 'process.memory.usage',
    unit: 'bytes',
    join: 'greatest',
  },
  bytesRead: sumOf(`${DISK}read}`, 'bytes'),
  bytesWritten: sumOf(`${DISK}write}`, 'bytes'),
  contextSwitches: sumOf('process.context_switches', 'count'),
  runDelay: sumOf('ridealong.process.run_delay', 's'),
  majorFaults: sumOf('process.paging.faults{system.paging.fault.type=major}', 'count'),
} as const satisfies Readonly<Record<string, TotalQuantity>>

export type TotalName = keyof typeof TOTALS

export const TOTAL_NAMES = Object.keys(TOTALS) as readonly TotalName[]

/** The totals that a report shows. */
export const REPORTED_TOTALS = [
  ...(['processes', 'cpuSeconds', 'peakBytes'] as const),
  ...(['bytesRead', 'bytesWritten', 'contextSwitches'] as const),
] as const satisfies readonly TotalName[]

/** Adds two values, or returns the greater one. The result is null if one is not known. */
export function joinValues(
  join: TotalQuantity['join'],
  a: number | null,
  b: number | null,
): number | null {
  if (a === null || b === null) return null
  return join === 'sum' ? a + b : Math.max(a, b)
}

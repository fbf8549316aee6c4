import { asText, type Fields } from '../core/kubernetes/json.ts'

/**
 * The totals that an observer computed for a program, including processes that are in no timepoint.
 */
export interface Totals {
  readonly processes: number
  readonly cpuSeconds: number
  readonly peakMiB: number
  /** Null if the counter of a process could not be read. */
  readonly readMiB: number | null
  readonly writtenMiB: number | null
  /**
   * CPU seconds of child processes that started and ended before the observer could measure them.
   * No row of the report includes these seconds.
   */
  readonly unseenSeconds: number
}

/** Reads the totals by program from an observer's summary; rows without a program are skipped. */
export function readTotals(summary: readonly Fields[]): ReadonlyMap<string, Totals> {
  const totals = new Map<string, Totals>()
  for (const row of summary) {
    const program = asText(row.program)
    if (program === undefined || typeof row.cpu_seconds !== 'number') continue
    const before = totals.get(program)
    const own = readTotal(row)
    totals.set(program, before === undefined ? own : plus(before, own))
  }
  return totals
}

const MIB = 1024 * 1024

function readTotal(row: Fields): Totals {
  return {
    processes: asNumber(row.processes) ?? 0,
    cpuSeconds: asNumber(row.cpu_seconds) ?? 0,
    peakMiB: (asNumber(row.peak_rss_kib) ?? 0) / 1024,
    readMiB: mib(row.bytes_read),
    writtenMiB: mib(row.bytes_written),
    unseenSeconds: asNumber(row.unaccounted_cpu_seconds) ?? 0,
  }
}

function asNumber(value: unknown): number | null {
  return typeof value === 'number' ? value : null
}

function mib(value: unknown): number | null {
  return typeof value === 'number' ? value / MIB : null
}

/** Combines the totals of a program in two containers or runs: sums, and the greater peak. */
export function plus(a: Totals, b: Totals): Totals {
  return {
    processes: a.processes + b.processes,
    cpuSeconds: a.cpuSeconds + b.cpuSeconds,
    peakMiB: Math.max(a.peakMiB, b.peakMiB),
    readMiB: a.readMiB === null || b.readMiB === null ? null : a.readMiB + b.readMiB,
    writtenMiB: a.writtenMiB === null || b.writtenMiB === null ? null : a.writtenMiB + b.writtenMiB,
    unseenSeconds: a.unseenSeconds + b.unseenSeconds,
  }
}

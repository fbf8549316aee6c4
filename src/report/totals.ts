import { asText, type Fields } from '../core/kubernetes/json.ts'

/** What an observer itself added up of a program: also of processes that no timepoint shows. */
export interface Totals {
  readonly processes: number
  readonly cpuSeconds: number
  readonly peakMiB: number
  /** Null where the kernel hid them. */
  readonly readMiB: number | null
  readonly writtenMiB: number | null
  /** CPU seconds of children that lived between two looks, which no row shows. */
  readonly unseenSeconds: number
}

/** The totals by program in an observer's summary; what is no program's is left out. */
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

/** The same program in two containers, or in two runs. */
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

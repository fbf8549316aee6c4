import type { MpiCall, MpiProcess } from './mpi-run.ts'

/** The sums of a process of MPI since MPI_Init at a time. */
export type MpiSums = Pick<MpiProcess, 'elapsed' | 'seconds' | 'calls' | 'bytes' | 'rows'>

/** The sums of processes at a time. */
export type KnownSums = ReadonlyMap<MpiProcess, MpiSums>

const NONE: MpiSums = { elapsed: 0, seconds: 0, calls: 0, bytes: 0, rows: [] }

/** Returns the sums of processes now. Later rows do not change the result. */
export function sumsOf(processes: readonly MpiProcess[]): KnownSums {
  return new Map(
    processes.map((process) => {
      const { elapsed, seconds, calls, bytes, rows } = process
      return [process, { elapsed, seconds, calls, bytes, rows }]
    }),
  )
}

/**
 * Returns what processes of MPI have done since a time, without their communicators and blocks,
 * which are only known for their whole lives. A process that was not known then has begun since.
 */
export function processesSince(
  processes: readonly MpiProcess[],
  before: KnownSums,
): readonly MpiProcess[] {
  return processes.map((process) => {
    const sums = before.get(process)
    const { elapsed, seconds, calls, bytes } = sums ?? NONE
    return {
      ...process,
      elapsed: process.elapsed - elapsed,
      seconds: process.seconds - seconds,
      // These are sums since MPI_Init as well, and no rule for windows reads them.
      waits: null,
      asleep: null,
      fastSeconds: null,
      calls: process.calls - calls,
      bytes: process.bytes - bytes,
      rows: sums === undefined ? process.rows : rowsSince(process.rows, sums.rows),
      communicators: [],
      blocks: new Map(),
      open: null,
      begun: new Map(),
    }
  })
}

/**
 * Returns the calls since the earlier rows. While a process runs, it only has rows of the calls
 * with the most time. So a call without an earlier row is left out: its time since then is not
 * known.
 */
function rowsSince(now: readonly MpiCall[], before: readonly MpiCall[]): MpiCall[] {
  const earlier = new Map(before.map((row) => [keyOf(row), row]))
  return now.flatMap((row) => {
    const sums = earlier.get(keyOf(row))
    if (sums === undefined) return []
    const { calls, seconds, bytes } = sums
    const since = { calls: row.calls - calls, seconds: row.seconds - seconds }
    return [{ ...row, ...since, bytes: row.bytes - bytes }]
  })
}

function keyOf({ call, communicator, peer }: MpiCall): string {
  return `${call}\n${communicator}\n${peer}`
}

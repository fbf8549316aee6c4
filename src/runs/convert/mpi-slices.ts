import { MPI_METRIC } from '../metrics/mpi-trace/mpi-run.ts'
import type { ChosenRun } from '../report/data.ts'
import type { SectionRun, SectionTrack } from '../report/section.ts'

/** The time in MPI of a process between two samples. */
export interface MpiSlice {
  /** In seconds since the first timepoint of the log. */
  readonly from: number
  readonly to: number
  /** The seconds of the process between the samples; fewer than `to - from` if it has ended. */
  readonly elapsed: number
  /** The seconds in calls of MPI, of all threads. */
  readonly mpiSeconds: number
  readonly calls: number
  readonly bytes: number
}

/** A process of MPI, with its time in MPI. */
export interface MpiTrack {
  readonly track: SectionTrack
  readonly slices: readonly MpiSlice[]
}

/**
 * Yields the processes of MPI with the time that they spent in MPI between samples. The first
 * slice of a process begins at the end of MPI_Init. All slices together have the whole time in MPI.
 */
export function* mpiTracks({ run }: ChosenRun): Generator<MpiTrack> {
  for (const section of run.sections.values()) {
    if (section.metric !== MPI_METRIC || section.section.name !== 'rank') continue
    for (const track of section.tracks.values())
      yield { track, slices: slicesOf(track, readerOf(section, track)) }
  }
}

/** Returns the growth of a counter until a sample; for the first sample, its value. */
type ReadGrowth = (column: string, index: number) => number

function readerOf({ measures }: SectionRun, { first, seconds, values }: SectionTrack): ReadGrowth {
  const places = new Map(measures.map(({ name }, index) => [name, index]))
  return (column, index) => {
    const place = places.get(column) ?? -1
    if (index === 0) return first[place] ?? 0
    const passed = (seconds[index] ?? 0) - (seconds[index - 1] ?? 0)
    return (values[place]?.[index] ?? 0) * passed
  }
}

function slicesOf({ seconds }: SectionTrack, growth: ReadGrowth): readonly MpiSlice[] {
  return seconds.flatMap((at, index) => {
    const [elapsed, mpiSeconds] = [growth('elapsed', index), growth('mpi_seconds', index)]
    if (elapsed <= 0) return []
    const from = index === 0 ? at - elapsed : (seconds[index - 1] ?? 0)
    const to = Math.min(from + elapsed, at)
    const [calls, bytes] = [growth('calls', index), growth('bytes', index)].map(Math.round)
    return [{ from, to, elapsed, mpiSeconds, calls: calls ?? 0, bytes: bytes ?? 0 }]
  })
}

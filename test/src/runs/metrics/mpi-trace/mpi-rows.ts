import { parseEntry } from '../../../../../src/runs/log/parse.ts'
import { addEntry, type CollectedRun, newRun } from '../../../../../src/runs/report/gather.ts'
import { BUILT_IN_ROWS } from '../../log/built-in.ts'

/** Calls of one function: the communicator, the peer, and the seconds. */
export type Calls = readonly [call: string, communicator: string, peer: string, seconds: number]

/** The members of a communicator, and the seconds of blocks of `width` calls. */
export interface Blocks {
  readonly size: number
  readonly width?: number
  readonly seconds: readonly number[]
  /** The number of all calls; by default, that of the blocks. */
  readonly collectives?: number
}

/** The last rows of a process. */
export interface TracedProcess {
  readonly pod?: string
  readonly pid?: number | null
  readonly rank: number | null
  readonly size: number
  readonly job?: string | null
  /** The start of the container; missing for the first one. */
  readonly attempt?: number
  readonly state?: string
  readonly elapsed?: number
  /** The time in MPI; by default, that of the calls. */
  readonly seconds?: number
  readonly library?: string
  readonly calls?: readonly Calls[]
  readonly communicators?: Readonly<Record<string, Blocks>>
  readonly timepoint?: number
}

/**
 * Returns the lines that `collect` would write about a process of the metric mpi-trace. By default,
 * each process has the pod with the number of its rank, and has run for 100 s. These rows are
 * inputs, whose numbers a test chooses; no observer wrote them.
 */
export function mpiLines(process: TracedProcess): readonly string[] {
  const { rank, size, job = '77', state = 'finalized', elapsed = 100, timepoint = 0 } = process
  const { calls = [], communicators = {}, library = 'Open MPI v4.1.4', pid = 100 } = process
  const pod = process.pod ?? String(rank)
  const identity = { container: 'app', program: 'lmp', pid, mpi_rank: rank }
  const start = process.attempt === undefined ? {} : { attempt: process.attempt }
  const row = (section: string, cells: object) =>
    JSON.stringify({
      ...{ kind: 'process', source: `hpc/job-${pod}/mpi-trace`, metric: 'mpi-trace' },
      ...{ namespace: 'hpc', pod: `job-${pod}`, node: 'n', pod_index: pod },
      ...{ timepoint, time: '2026-03-01T10:00:00.000Z', seconds: 10 * timepoint, interval: null },
      ...{ section, ...identity, ...start, ...cells },
    })
  const seconds = process.seconds ?? calls.reduce((sum, [, , , own]) => sum + own, 0)
  const until = { state, elapsed, mpi_seconds: seconds }
  const own = { mpi_size: size, mpi_library: library, job, ...until }
  return [
    row('rank', { ...own, calls: 10 * calls.length, bytes: 1000 * calls.length }),
    ...Object.entries(communicators).map(([communicator, blocks]) =>
      row('communicator', {
        ...{ communicator, size: blocks.size, collectives: callsIn(blocks) },
        mpi_seconds: blocks.seconds.reduce((sum, one) => sum + one, 0),
      }),
    ),
    ...calls.map(([call, communicator, mpi_peer, mpi_seconds]) =>
      row('call', {
        ...{ call, communicator, mpi_peer, mpi_seconds },
        ...{ calls: 10, max_ms: 100 * mpi_seconds, bytes: 1000 },
      }),
    ),
    ...Object.entries(communicators).flatMap(([communicator, { width = 10, seconds: all }]) =>
      all.map((one, index) =>
        row('block', {
          ...{ communicator, first: index * width, collectives: width, mpi_seconds: one },
        }),
      ),
    ),
  ]
}

function callsIn({ width = 10, seconds, collectives = width * seconds.length }: Blocks): number {
  return collectives
}

/** Reads the rows of processes. */
export function runOf(processes: readonly TracedProcess[]): CollectedRun {
  const run = newRun(BUILT_IN_ROWS)
  for (const line of processes.flatMap(mpiLines)) {
    const entry = parseEntry(line, BUILT_IN_ROWS)
    if (entry === undefined) throw new Error('the line is not an entry')
    addEntry(run, entry)
  }
  return run
}

/** The four recorded runs of LAMMPS; see test/logs/README.md. */
export type Recorded = 'imbalanced' | 'balanced' | 'collective' | 'even'

/** Returns the names of the logs of a recorded run. */
export function recordedLogs(kind: Recorded): readonly string[] {
  return ['0', '1'].map((pod) => `mpi-trace-${kind}-${pod}.log`)
}

import type { RunEvidence } from '../evidence/run-evidence.ts'

/** How a metric that records calls of MPI shows the jobs of a run. */
export interface JobRecorder {
  /** Returns the jobs whose calls were recorded. */
  readonly recorded: (run: RunEvidence) => readonly RecordedJob[]
  /** Returns the job with the most processes, all of which have not returned from MPI_Init. */
  readonly starting: (run: RunEvidence) => RecordedStart | undefined
  readonly times: JobTimes
}

/** The processes of one MPI_COMM_WORLD. All times are in seconds. */
export interface RecordedJob {
  /** The metric that recorded the calls. */
  readonly metric: string
  /** The identifier of the job; null if the launcher sets none. */
  readonly job: string | null
  /** The number of processes of MPI_COMM_WORLD. */
  readonly size: number
  /** The processes that have rows, in the order of their ranks in MPI_COMM_WORLD. */
  readonly processes: readonly RecordedProcess[]
  /** The time since MPI_Init for which the job was seen. */
  readonly seen: number
  /**
   * Why the processes that have rows cannot be compared; null if they can, also if others have no
   * rows.
   */
  readonly conflict: string | null
  /** Why not all processes can be compared: the conflict, or the number of those without rows. */
  readonly problem: string | null
  /** Why the times of its processes give no efficiency; null if they do. */
  readonly uncounted: string | null
}

/** What a process of MPI has recorded until its last rows. All times are in seconds. */
export interface RecordedProcess {
  readonly source: string
  /** The pod of the process, as reports name it. */
  readonly pod: string
  /** The identifier of the job; null if the launcher sets none. */
  readonly job: string | null
  /** The rank in MPI_COMM_WORLD. */
  readonly rank: number
  readonly program: string | null
  /** The process id; null if it is not known. */
  readonly pid: number | null
  readonly state: string | null
  /** The time since the end of MPI_Init. */
  readonly elapsed: number
  /** The time in calls of MPI, of all threads. */
  readonly seconds: number
  /** How long its threads that call MPI waited for a processor; null if it was not counted. */
  readonly waits: ProcessorWaits | null
  /** How long its threads slept outside of MPI; null if it was not counted. */
  readonly asleep: number | null
  /** The time of the calls if all like calls had been as fast as the fastest; null if unknown. */
  readonly fastSeconds: number | null
  /** The CPU time since MPI_Init; null if the metric has not counted it for most of the time. */
  readonly cpu: number | null
  /** How often it was seen asleep, and waiting for storage; missing if its state was not read. */
  readonly states: SleepStates | undefined
  readonly calls: number
  readonly bytes: number
  readonly rows: readonly RecordedCall[]
}

/** The time since MPI_Init in which threads could run and waited for a processor. */
export interface ProcessorWaits {
  readonly outside: number
  readonly inMpi: number
}

/** The numbers of samples in which a process slept, and in which it waited for storage. */
export interface SleepStates {
  readonly asleep: number
  readonly storage: number
}

/** Calls of one function by a process. */
export interface RecordedCall {
  readonly call: string
  readonly calls: number
  readonly seconds: number
  readonly bytes: number
  readonly longestMs: number
}

/** The processes of a job that have not returned from MPI_Init. */
export interface RecordedStart {
  /** The number of processes of MPI_COMM_WORLD; 0 if it is not known. */
  readonly size: number
  readonly members: readonly { readonly pod: string }[]
}

/** The section with the times of processes of MPI, and its columns: sums since MPI_Init. */
export interface JobTimes {
  readonly metric: string
  readonly section: string
  readonly elapsed: string
  readonly inMpi: string
  /** The waiting for a processor, and the sleep. */
  readonly waitedOutside: string
  readonly waitedInMpi: string
  readonly asleepOutside: string
  readonly calls: string
  readonly bytes: string
  /** The number of processes of the job. */
  readonly size: string
}

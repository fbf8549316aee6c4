import type { ReflectorPace } from '../../../src/cluster/reflect/reflector.ts'
import type { Backoff } from '../../../src/lib/pause.ts'

/** Intervals and timeouts of the archive, in milliseconds. */
export interface ArchivePace extends ReflectorPace {
  /** The pause between two turns, in which changed pods are handled and Runs are written. */
  readonly turnMs: number
  /** The shortest time between two updates of the Run of a run that goes on. */
  readonly updateMs: number
  /** The pauses between readings of a workload whose pods have all ended. */
  readonly ending: Backoff
  /** The pauses after an object could not be written. */
  readonly writing: Backoff
  /** The time for which the pods of an ended run are remembered: it may create another one. */
  readonly lingerMs: number
  /** The time after the first failure to write after which an ended run gets no Run. */
  readonly giveUpMs: number
  /** The time between two readings of the log of an observer that runs. */
  readonly readMs: number
  /** The longest time of such a reading. The next one goes on where it stopped. */
  readonly readingMs: number
  /** The longest time of a look for processes without progress in the logs of a run. */
  readonly lookMs: number
  /** The pauses after a log could not be read, or the rows of a run could not be stored. */
  readonly storing: Backoff
  /** The time after the end of a container after which its log is given up. */
  readonly giveUpLogMs: number
  /** The time between two searches for Runs to delete, and for Runs without pods. */
  readonly sweepMs: number
  /** The time between two searches for rows without a Run, for which all rows are listed. */
  readonly listRowsMs: number
}

/**
 * The most requests with which Runs are written at once. With 8, an apiserver that was busy with
 * other clients answered too few of them to keep up (`npm run bench:archive`).
 */
export const PARALLEL_WRITES = 16

export const ARCHIVE_PACE: ArchivePace = {
  relistMs: 600_000,
  silenceMs: 90_000,
  answerMs: 30_000,
  pauseMs: 500,
  longestPauseMs: 15_000,
  turnMs: 500,
  updateMs: 60_000,
  ending: { pauseMs: 500, longestPauseMs: 60_000 },
  writing: { pauseMs: 1000, longestPauseMs: 300_000 },
  lingerMs: 120_000,
  giveUpMs: 24 * 3_600_000,
  readMs: 60_000,
  readingMs: 30_000,
  lookMs: 30_000,
  storing: { pauseMs: 1000, longestPauseMs: 60_000 },
  giveUpLogMs: 600_000,
  sweepMs: 60_000,
  listRowsMs: 3_600_000,
}

import { durationText } from '../../lib/duration.ts'
import type { Need, PlottedColumn, SectionColumns } from '../evidence/evidence.ts'
import type { PodEvidence, RunEvidence } from '../evidence/run-evidence.ts'
import type { EndedContainer } from '../log/entry.ts'
import type { ExplainedRules, FactUnits, StuckGroup } from './rule.ts'

/** How the rows of a metric show that processes make no progress. */
export interface StuckFinder {
  /** The columns of which one alternative is enough. */
  readonly needs: readonly Need[]
  readonly reads: readonly SectionColumns[]
  readonly plots?: readonly PlottedColumn[]
  readonly facts: FactUnits
  /** When processes make no progress, and where this comes from, in words. */
  readonly condition: string
  readonly source: string
  /** The findings that processes without progress explain. */
  readonly explains?: ExplainedRules
  readonly find: (run: RunEvidence) => readonly StuckGroup[]
  readonly live: LastRows
}

/** How the last rows of a log are kept while it grows. */
export interface LastRows {
  /** Whether rows of a section say that processes make progress, or why not. */
  readonly isRead: (section: string) => boolean
  /** Returns the store of a log of which only the end is read, if it differs from others. */
  readonly create?: () => unknown
  /** Whether processes count whose log has ended, while others that wait for them run. */
  readonly countsEnded: boolean
}

/**
 * The seconds after which processes that wait in MPI_Init are named, and any process that has begun
 * no collective call.
 */
export const MIN_STARTING = 300

/**
 * Returns since when processes wait: `Since the start`, or `Since 3 min 12 s after the start`.
 *
 * @param seconds the time since the first timepoint of the log; a negative one counts as 0
 */
export function sinceText(seconds: number): string {
  const whole = Math.round(Math.max(seconds, 0))
  return whole === 0 ? 'Since the start' : `Since ${durationText(whole)} after the start`
}

/** Returns the containers that ended and were not started again. */
export function lastEnds({ ended }: PodEvidence): readonly EndedContainer[] {
  return (ended ?? []).filter(({ restarted }) => !restarted)
}

import type { Fields } from '../core/kubernetes/json.ts'
import type { RowOrigin, Sample } from './columns.ts'

/** What is said once of a log, after its samples. */
export type LogEntry = { readonly kind: 'log' } & RowOrigin & {
    /** The observer's own words about itself, as it printed them. */
    readonly metadata: Fields
    /** The command that the Metrics Operator was told to wait for. */
    readonly command: string | null
    /** What the observer added up itself: of the run, then of each program; empty where it did not. */
    readonly summary: readonly Fields[]
    /** Whether the samples are averages since the node started, as the Metrics Operator takes them. */
    readonly isAverage: boolean
    /** Timepoints with at least one row. */
    readonly timepoints: number
    /** What is missing from the log, a sentence each; empty where it is whole. */
    readonly cuts: readonly string[]
    /** What a reader must know of the log besides, a sentence each. */
    readonly notices: readonly string[]
  }

/** A line of the collected JSON Lines. */
export type Entry = Sample | LogEntry

import type { Fields } from '../core/kubernetes/json.ts'
import type { RowOrigin, Sample } from './columns.ts'

/** The description of a log, which follows its samples. */
export type LogEntry = { readonly kind: 'log' } & RowOrigin & {
    /** The metadata that the observer printed about itself. */
    readonly metadata: Fields
    /** The command that the Metrics Operator was configured to wait for. */
    readonly command: string | null
    /**
     * The totals for the run, and then for each program, as computed by the observer; empty if the
     * observer computed none.
     */
    readonly summary: readonly Fields[]
    /**
     * Whether the samples are averages since the node started, as in the logs of the Metrics
     * Operator.
     */
    readonly isAverage: boolean
    /** The number of timepoints with at least one row. */
    readonly timepoints: number
    /** Missing parts of the log, one sentence each; empty if the log is complete. */
    readonly cuts: readonly string[]
    /** Other notices about the log, one sentence each. */
    readonly notices: readonly string[]
  }

/** A line of the collected JSON Lines. */
export type Entry = Sample | LogEntry

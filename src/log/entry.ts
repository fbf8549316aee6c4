import type { Fields } from '../core/kubernetes/json.ts'
import type { RowOrigin, Sample } from './columns.ts'

/** The description of a log, which follows its samples. */
export type LogEntry = { readonly kind: 'log' } & RowOrigin & {
    /** The metadata that the observer printed about itself. */
    readonly metadata: Fields
    /** The command that the Metrics Operator was configured to wait for. */
    readonly command: string | null
    /**
     * The totals that the observer computed: for the run, then for each program; empty if it
     * computed none.
     */
    readonly summary: readonly Fields[]
    /**
     * Whether the samples are averages since the node started, as those of the Metrics Operator
     * are.
     */
    readonly isAverage: boolean
    /** Timepoints with at least one row. */
    readonly timepoints: number
    /** Missing parts of the log, one sentence each; empty if the log is complete. */
    readonly cuts: readonly string[]
    /** Other notices about the log, one sentence each. */
    readonly notices: readonly string[]
  }

/** A line of the collected JSON Lines. */
export type Entry = Sample | LogEntry

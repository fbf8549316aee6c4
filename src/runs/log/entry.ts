import type { RowsDescription } from '../../core/catalog.ts'
import type { Fields } from '../../core/kubernetes/json.ts'
import type { RowOrigin, Sample } from './columns.ts'

/** The description of a log, which follows its samples. */
export type LogEntry = { readonly kind: 'log' } & RowOrigin & {
    /** The metadata that the observer printed about itself. */
    readonly metadata: Fields
    /** The description of the rows of the log's metric; null if it is not known. */
    readonly rows: RowsDescription | null
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
    /**
     * How the containers of the pod ended, without its observers, as the status of the pod says;
     * null if the status is not known, as in a log that was not collected from a cluster.
     */
    readonly ended: readonly EndedContainer[] | null
    /** The limits of the whole pod; null if they are not known, as those of other logs. */
    readonly podLimits: PodLimits | null
    /**
     * How many pods of the workload are observed, if the annotation `ridealong.dev/pods` excluded
     * some; null if all are, or it is not known.
     */
    readonly observedPods: ObservedPods | null
    /**
     * Where the time of the run went until the log was collected, as `collectedDocument` writes it
     * (time/collected-time.ts); null if it is not known.
     */
    readonly time: Fields | null
    /**
     * The number of the attempt, over all pods that replaced each other, as far as the pod says it;
     * null if it is not known, as in a log that was not collected from a cluster.
     */
    readonly attempt: number | null
  }

/**
 * The limits in a pod's `spec.resources` (KEP-2837), which apply to all of its containers together.
 */
export interface PodLimits {
  /** Processors; null if there is no limit. */
  readonly cpu: number | null
  /** Bytes; null if there is no limit. */
  readonly memory: number | null
}

/** The number of observed pods of a workload. */
export interface ObservedPods {
  /** KIND/NAME, or the label selector. */
  readonly workload: string
  /** The number of pods. */
  readonly total: number
  /** The number of pods with at least one observer. */
  readonly observed: number
  /** For each metric that is observed, the number of its pods. */
  readonly metrics: Readonly<Record<string, number>>
}

/**
 * The reason of a container that ended because all containers of its pod are started again. The
 * kubelet writes it without times, and with the exit code 137, in place of the end of the container
 * (kubernetes v1.36 pkg/kubelet, KEP-5532).
 */
export const RESTARTING_ALL = 'RestartingAllContainers'

/** Reports whether the end in the status of a container is not its own; see `RESTARTING_ALL`. */
export function isReplacedEnd({ reason }: { readonly reason: unknown }): boolean {
  return reason === RESTARTING_ALL
}

/** A container that ended, from its `terminated` state in the status of its pod. */
export interface EndedContainer {
  readonly container: string
  /** Such as Completed, Error or OOMKilled; null if there is none. */
  readonly reason: string | null
  readonly exitCode: number | null
  /** The number of the signal that ended it; null if the container runtime did not set it. */
  readonly signal: number | null
  /** When it ended: UTC, in whole seconds, on the clock of its node; null if it is not known. */
  readonly finishedAt: string | null
  /** Whether the kubelet started the container again. */
  readonly restarted: boolean
  /** Whether the pod was being deleted when its status was read. */
  readonly deleted: boolean
}

/** A line of a log in JSON Lines that does not match the description of its metric's rows. */
export type UnmatchedRow = { readonly kind: 'unmatched' } & RowOrigin & {
    /** The line; if it is long, only its beginning. */
    readonly text: string
    /** Why the line does not match. */
    readonly reason: string
  }

/** A line of the collected JSON Lines. */
export type Entry = Sample | UnmatchedRow | LogEntry

/** Reports whether an entry is a row of a metric. */
export function isSample(entry: Entry): entry is Sample {
  return entry.kind !== 'log' && entry.kind !== 'unmatched'
}

import type { Need } from './evidence.ts'
import type { RankEvidence, RunEvidence } from './run-evidence.ts'

export type RuleName =
  | 'oom-killed'
  | 'memory-pressure'
  | 'swapping'
  | 'close-to-memory-limit'
  | 'throttled'
  | 'pinned-to-same-core'
  | 'waiting-for-cpu'
  | 'waiting-for-storage'
  | 'retransmissions'
  | 'network-bound'
  | 'remote-memory'
  | 'more-work'
  | 'more-time-in-function'
  | 'waiting-in-collectives'
  | 'waiting-in-point-to-point'
  | 'much-time-in-mpi'
  | 'mostly-idle'

/**
 * How bad a finding is:
 * - `failure`: a process was killed.
 * - `slowdown`: the run takes longer.
 * - `risk`: the rows do not show that anything was lost.
 */
export type Severity = 'failure' | 'slowdown' | 'risk'

/** A number that a finding is based on. */
export interface Fact {
  /** What the number is, such as "throttled periods". */
  readonly name: string
  readonly value: number
  readonly unit: FactUnit
}

/** The unit of a fact: `1/s` is a count per second, and `cores` is a number of processors. */
export type FactUnit = 'percent' | 's' | 'bytes' | 'count' | '1/s' | 'cores'

/** A process of MPI for which another one waited. */
export interface WaitedFor {
  readonly rank: string
  /** The rank in MPI_COMM_WORLD. */
  readonly mpiRank: number
  /** The function of MPI in which the other process waited for most of the time. */
  readonly call: string
}

/** A rank for which the condition of a rule is true. */
export interface Affected {
  readonly rank: string
  /**
   * The containers, processes, programs or connections that the numbers are about; empty if they
   * are about the whole rank.
   */
  readonly things: readonly string[]
  /** Other containers, processes, programs or connections with lesser numbers. */
  readonly also?: readonly string[]
  /** The seconds of the run that the rank lost; null if this time is not known. */
  readonly lost: number | null
  /**
   * The seconds of the run that it is about, which another finding must account for to explain it.
   * Without this, they are the seconds lost.
   */
  readonly size?: number
  /** Why it happened, if the rule knows several causes. Each cause has a finding of its own. */
  readonly cause?: string
  /** The process for which the rank waited, if the rule knows it. */
  readonly waitedFor?: WaitedFor
  /** The numbers. The first one was compared with the threshold. */
  readonly facts: readonly Fact[]
}

/** The number with which a rule compares the first fact, and where this number comes from. */
export interface Threshold {
  readonly value: number
  readonly unit: FactUnit
  /** The whole condition in words. */
  readonly condition: string
  readonly source: string
}

/** A column that the report plots to show a finding over time. */
export interface PlottedColumn {
  readonly metric: string
  readonly section: string
  readonly column: string
}

/** A rule: when a finding is made, and what it says. */
export interface FindingRule {
  readonly name: RuleName
  /** The title of its findings. */
  readonly title: string
  readonly severity: Severity
  /**
   * The columns without which the rule is not checked for a rank. Each entry is an alternative, and
   * one alternative is enough: the rows of the rank must have a value in each of its columns.
   */
  readonly needs: readonly (readonly Need[])[]
  /** Columns that the rule reads if they have values; it is also checked without them. */
  readonly alsoReads?: readonly Need[]
  readonly threshold: Threshold
  /**
   * Whether the rule reads a metric that needs more than an annotation. If this metric was
   * collected for no rank, the rule is not listed as not checked.
   */
  readonly isOptional?: boolean
  /** Whether something about a rank can be found although a column was not read. */
  readonly canFind?: (rank: RankEvidence) => boolean
  /**
   * Returns why the rule was not checked for a rank although the columns were read, by rank.
   *
   * @param found the findings of all rules
   */
  readonly uncheckedIn?: (run: RunEvidence, found: FoundRanks) => ReadonlyMap<string, string>
  /**
   * Returns the ranks for which the condition is true, with the numbers. `found` contains the
   * findings of the rules that were checked before.
   */
  readonly find: (run: RunEvidence, found: FoundRanks) => readonly Affected[]
  /** Whether the rule compares ranks; the plot of the finding then shows all ranks. */
  readonly isRelative?: boolean
  /** Reports whether the numbers of a rank belong to its node, and not only to its pod. */
  readonly isOfNode?: (run: RunEvidence, rank: string) => boolean
  /** Returns a sentence about the worst rank, without the name of the rank at its start. */
  readonly sentence: (worst: Affected) => string
  readonly advice: string
  /** Columns that show the finding over time. The report plots the first one that was read. */
  readonly plots: readonly PlottedColumn[]
}

/** The ranks of the findings that were made so far with the seconds that they lost, by rule. */
export type FoundRanks = ReadonlyMap<RuleName, ReadonlyMap<string, number | null>>

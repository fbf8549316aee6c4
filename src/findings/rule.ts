import type { Need } from './evidence.ts'
import type { RunEvidence } from './run-evidence.ts'

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
  | 'mostly-idle'

/**
 * How bad a finding is:
 * - `failure`: a process was killed.
 * - `slowdown`: the run takes longer.
 * - `risk`: nothing was lost yet.
 */
export type Severity = 'failure' | 'slowdown' | 'risk'

/** A number that a finding is based on. */
export interface Fact {
  /** What the number is, such as "throttled periods". */
  readonly name: string
  readonly value: number
  /** The unit in the catalog's words: percent, s, bytes, count, count/s, cores. */
  readonly unit: FactUnit
}

export type FactUnit = 'percent' | 's' | 'bytes' | 'count' | '1/s' | 'cores'

/** A rank that a rule found something about. */
export interface Affected {
  readonly rank: string
  /** The processes, containers or peers that it is about; empty if it is the whole rank. */
  readonly things: readonly string[]
  /** The seconds of the run that the rank lost; null if the rows do not say it. */
  readonly lost: number | null
  /** The numbers, the one that is compared with the threshold first. */
  readonly facts: readonly Fact[]
}

/** The number from which a rule makes a finding, and where the number comes from. */
export interface Threshold {
  /** The limit of the first fact, in its unit. */
  readonly value: number
  readonly unit: FactUnit
  /** The whole condition in words. */
  readonly condition: string
  readonly source: string
}

/** A column that carries a finding, and that the report plots. */
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
   * The columns without which the rule is not checked. Each entry is an alternative: one of them is
   * enough, and of each of its needs every column must have been read for some thing.
   */
  readonly needs: readonly (readonly Need[])[]
  /** Columns that the rule reads if they are there. */
  readonly alsoReads?: readonly Need[]
  readonly threshold: Threshold
  /** Returns the ranks that the condition is true of, with the numbers. */
  readonly find: (run: RunEvidence, found: FoundRanks) => readonly Affected[]
  /** Whether it compares ranks, so that the plot shows all of them. */
  readonly isRelative?: boolean
  /** Whether it is about the node: all pods of the node share what was measured. */
  readonly isOfNode?: (run: RunEvidence, rank: string) => boolean
  /** Says what happened, about the worst rank; the sentence continues after its name. */
  readonly sentence: (worst: Affected) => string
  readonly advice: string
  /** The columns that carry the finding; the first one that was read is plotted. */
  readonly plots: readonly PlottedColumn[]
}

/** The ranks of the findings that were made so far, by rule. */
export type FoundRanks = ReadonlyMap<RuleName, ReadonlySet<string>>

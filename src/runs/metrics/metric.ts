import type { RunEvidence } from '../evidence/run-evidence.ts'
import type { EvidenceMetric, Stores } from '../evidence/stores.ts'
import type { JobRecorder } from '../jobs/recorded-job.ts'
import type { ProgramEnd } from '../rules/program-end.ts'
import type { FindingRule } from '../rules/rule.ts'
import type { StuckFinder } from '../rules/stuck.ts'
import type { MetricReport } from './page-part.ts'

/** Everything that is known of a metric besides the description of its rows in the catalog. */
export interface RunMetric extends EvidenceMetric {
  /**
   * The rules for findings that may explain those of rules that compare pods, which are checked
   * after them.
   */
  readonly causes?: readonly FindingRule[]
  /** The other rules for findings from its rows, in the order in which they are checked. */
  readonly rules?: readonly FindingRule[]
  /** How its rows show that processes make no progress. */
  readonly stuck?: StuckFinder
  /** Returns whether its rows show the end of the program; undefined if they do not say it. */
  readonly end?: (run: RunEvidence) => ProgramEnd | undefined
  /** How its rows show MPI jobs; missing if it records no calls of MPI. */
  readonly jobs?: JobRecorder
  /** What only it shows of programs that have mapped a library. */
  readonly shows?: ShownOfLibrary
  /** Whether the summary of its observer has the use of containers. */
  readonly measuresContainers?: boolean
  /** Whether its tool makes stacks of the processes for the command `stacks`. */
  readonly makesStacks?: boolean
  /**
   * Returns what it adds to a report; undefined if it has no rows.
   *
   * @param podOf returns the pod of a log
   */
  readonly report?: (stores: Stores, podOf: (source: string) => string) => MetricReport | undefined
  /** The columns that `top` shows without a request. */
  readonly topColumns?: readonly ShownColumn[]
}

/** What a metric shows of programs that have mapped a library. */
export interface ShownOfLibrary {
  /** What it looks at, in a list such as `MPI, processors`. */
  readonly area: string
  /** What may have held a run up, such as `waiting and hangs in MPI`. */
  readonly what: string
  /** The name of the library in the column `libraries`. */
  readonly library: string
  /** Whether it is named if it is not known which libraries a program has mapped. */
  readonly isCommon?: boolean
  /** Whether a process that waits there usually runs, as if it computed. */
  readonly isPolled?: boolean
}

/** A measured column, and how `top` shows it. */
export interface ShownColumn {
  /** The title in the table. Of the observed metrics with this title, the first one is shown. */
  readonly title: string
  readonly section: string
  readonly column: string
  /** How the values of several rows become one value in a line of the table. */
  readonly total: Total
  /** Whether the columns of other metrics with this title say more. */
  readonly isFallback?: boolean
  /** The number that converts a value to the unit of the table; 1 if it is missing. */
  readonly factor?: number
  /** The unit of the table; the unit of the column if it is missing. */
  readonly unit?: string
}

/**
 * How the values of several rows become one value. `greatest` is for gauges that cannot be added,
 * such as a temperature.
 */
export type Total = 'sum' | 'greatest'

/** Converts seconds per second to percent of a core, or of the time. */
export const SHARE = { factor: 100, unit: 'percent' } as const

/** Returns a column of processes for `top`. */
export function ofProcess(title: string, column: string): ShownColumn {
  return { title, section: 'process', column, total: 'sum' }
}

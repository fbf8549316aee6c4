import type { EvidenceMetric } from '../evidence/stores.ts'
import type { FindingRule } from '../rules/rule.ts'
import type { StuckFinder } from '../rules/stuck.ts'

/** Everything that is known of a metric besides the description of its rows in the catalog. */
export interface RunMetric extends EvidenceMetric {
  /** The rules for findings from its rows, in the order in which they are checked. */
  readonly rules?: readonly FindingRule[]
  /** How its rows show that processes make no progress. */
  readonly stuck?: StuckFinder
}

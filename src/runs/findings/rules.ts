import type { PlottedColumn, SectionColumns } from '../evidence/evidence.ts'
import { METRICS } from '../metrics/index.ts'
import { LIBRARY_READS } from '../metrics/libraries.ts'
import type { ExplainedRules, FindingRule } from '../rules/rule.ts'
import { THROTTLED, WAITING_FOR_CPU } from './cpu-rules.ts'
import { WAITING_FOR_STORAGE } from './devices/storage-rule.ts'
import { CONTAINER_FAILED } from './failure-rule.ts'
import { MEMORY_GROWING } from './memory-growth-rule.ts'
import { CLOSE_TO_LIMIT, MEMORY_PRESSURE, OOM_KILLED, SWAPPING } from './memory-rules.ts'
import { NO_PROGRESS } from './no-progress-rule.ts'
import { PINNED, REMOTE_MEMORY } from './placement-rules.ts'
import { MORE_WORK, MOSTLY_IDLE } from './work-rules.ts'

/** The rules of metrics that are checked before those that compare pods, of later metrics first. */
const METRIC_CAUSES = METRICS.toReversed().flatMap((metric): readonly MetricCause[] =>
  'causes' in metric ? metric.causes : [],
)
/** The other rules of the metrics; those of later metrics first. */
const METRIC_RULES = METRICS.toReversed().flatMap((metric): readonly MetricRule[] =>
  'rules' in metric ? metric.rules : [],
)

type Metric = (typeof METRICS)[number]
type MetricCause = Extract<Metric, { readonly causes: unknown }>['causes'][number]
type MetricRule = Extract<Metric, { readonly rules: unknown }>['rules'][number]

/**
 * The rules in the order in which they are checked. A finding can only be explained by findings of
 * rules before it.
 */
export const RULES = [
  OOM_KILLED,
  CONTAINER_FAILED,
  NO_PROGRESS,
  MEMORY_PRESSURE,
  SWAPPING,
  MEMORY_GROWING,
  CLOSE_TO_LIMIT,
  THROTTLED,
  PINNED,
  WAITING_FOR_CPU,
  WAITING_FOR_STORAGE,
  ...METRIC_CAUSES,
  REMOTE_MEMORY,
  MORE_WORK,
  ...METRIC_RULES,
  MOSTLY_IDLE,
] as const satisfies readonly FindingRule[]

export type CheckedRule = (typeof RULES)[number]
export type RuleName = CheckedRule['name']

/** A rule whose findings explain the findings of other rules, which are then not made. */
export interface Precedence extends ExplainedRules<RuleName> {
  readonly by: CheckedRule
}

/** The order of precedence: the finding that names the cause is made, and not its consequences. */
export const EXPLANATIONS: readonly Precedence[] = RULES.flatMap((by) =>
  (by.explains ?? []).map((one) => ({ by, ...one })),
)

/** The columns that the rules read or name for plots, and those that say which rules matter. */
export const RULE_NEEDS: readonly SectionColumns[] = [
  ...RULES.flatMap(({ reads }) => reads),
  ...LIBRARY_READS,
]

/** The columns that the rules name for plots. */
export const RULE_PLOTS: readonly PlottedColumn[] = RULES.flatMap(({ plots }) => plots)

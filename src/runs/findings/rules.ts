import type { PlottedColumn, SectionColumns } from '../evidence/evidence.ts'
import { THROTTLED, WAITING_FOR_CPU } from './cpu-rules.ts'
import { GPU_IDLE_IN_PYTHON, GPU_LIMITED, GPU_MEMORY_FULL } from './devices/gpu-rules.ts'
import { NETWORK_BOUND, RETRANSMISSIONS } from './devices/network-rules.ts'
import { WAITING_FOR_STORAGE } from './devices/storage-rule.ts'
import { CONTAINER_FAILED } from './failure-rule.ts'
import {
  MUCH_TIME_IN_MPI,
  WAITING_IN_COLLECTIVES,
  WAITING_IN_POINT_TO_POINT,
} from './libraries/mpi-rules.ts'
import { LATE_IN_COLLECTIVES } from './libraries/torch-rule.ts'
import { MEMORY_GROWING } from './memory-growth-rule.ts'
import { CLOSE_TO_LIMIT, MEMORY_PRESSURE, OOM_KILLED, SWAPPING } from './memory-rules.ts'
import { PINNED, REMOTE_MEMORY } from './placement-rules.ts'
import { MUCH_TIME_IN_DATA_LOADER } from './profiles/data-loader-rule.ts'
import { ALL_WAIT_FOR_ONE } from './profiles/late-rank-rule.ts'
import { MORE_TIME_IN_FUNCTION } from './profiles/profile-rule.ts'
import { WAITING_IN_PYTHON } from './profiles/python-rule.ts'
import { NO_PROGRESS } from './progress/no-progress-rule.ts'
import type { ExplainedRules, FindingRule } from './rule.ts'
import { MORE_WORK, MOSTLY_IDLE } from './work-rules.ts'

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
  GPU_MEMORY_FULL,
  THROTTLED,
  GPU_LIMITED,
  PINNED,
  WAITING_FOR_CPU,
  WAITING_FOR_STORAGE,
  RETRANSMISSIONS,
  NETWORK_BOUND,
  REMOTE_MEMORY,
  MORE_WORK,
  MORE_TIME_IN_FUNCTION,
  MUCH_TIME_IN_DATA_LOADER,
  ALL_WAIT_FOR_ONE,
  WAITING_IN_PYTHON,
  GPU_IDLE_IN_PYTHON,
  LATE_IN_COLLECTIVES,
  WAITING_IN_COLLECTIVES,
  WAITING_IN_POINT_TO_POINT,
  MUCH_TIME_IN_MPI,
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

/** The columns that the rules read or name for plots. */
export const RULE_NEEDS: readonly SectionColumns[] = RULES.flatMap(({ reads }) => reads)

/** The columns that the rules name for plots. */
export const RULE_PLOTS: readonly PlottedColumn[] = RULES.flatMap(({ plots }) => plots)

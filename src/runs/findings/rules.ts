import { THROTTLED, WAITING_FOR_CPU } from './cpu-rules.ts'
import type { Need } from './evidence.ts'
import { CLOSE_TO_LIMIT, MEMORY_PRESSURE, OOM_KILLED, SWAPPING } from './memory-rules.ts'
import { MUCH_TIME_IN_MPI, WAITING_IN_COLLECTIVES, WAITING_IN_POINT_TO_POINT } from './mpi-rules.ts'
import { NETWORK_BOUND, RETRANSMISSIONS } from './network-rules.ts'
import { PINNED, REMOTE_MEMORY } from './placement-rules.ts'
import { MORE_TIME_IN_FUNCTION } from './profile-rule.ts'
import type { FindingRule, PlottedColumn, RuleName } from './rule.ts'
import { WAITING_FOR_STORAGE } from './storage-rule.ts'
import { MORE_WORK, MOSTLY_IDLE, SLOWDOWNS } from './work-rules.ts'

/**
 * The rules in the order in which they are checked. A finding can only be explained by findings of
 * rules before it.
 */
export const RULES: readonly FindingRule[] = [
  OOM_KILLED,
  MEMORY_PRESSURE,
  SWAPPING,
  CLOSE_TO_LIMIT,
  THROTTLED,
  PINNED,
  WAITING_FOR_CPU,
  WAITING_FOR_STORAGE,
  RETRANSMISSIONS,
  NETWORK_BOUND,
  REMOTE_MEMORY,
  MORE_WORK,
  MORE_TIME_IN_FUNCTION,
  WAITING_IN_COLLECTIVES,
  WAITING_IN_POINT_TO_POINT,
  MUCH_TIME_IN_MPI,
  MOSTLY_IDLE,
]

/** Rules whose findings explain the findings of other rules, which are then not made. */
export interface Precedence {
  readonly by: readonly RuleName[]
  readonly explains: readonly RuleName[]
  /** Whether a finding explains findings about the same rank, or about any rank of the run. */
  readonly of: 'same rank' | 'any rank'
  readonly because: string
}

/**
 * The order of precedence: the finding that names the cause is made, and not its consequences. It
 * must have lost at least half of the time that the other one is about; see `isAccountedFor`.
 */
export const EXPLANATIONS: readonly Precedence[] = [
  {
    by: ['oom-killed'],
    explains: ['swapping', 'close-to-memory-limit'],
    of: 'same rank',
    because: 'before the kernel kills a process, the kernel frees as much memory as possible',
  },
  {
    by: ['memory-pressure'],
    explains: ['swapping', 'close-to-memory-limit', 'waiting-for-storage'],
    of: 'same rank',
    because: 'memory that the kernel freed is read again from storage',
  },
  {
    by: ['swapping'],
    explains: ['waiting-for-storage'],
    of: 'same rank',
    because: 'major page faults are reads from storage',
  },
  {
    by: ['throttled'],
    explains: ['pinned-to-same-core', 'waiting-for-cpu', 'more-work'],
    of: 'same rank',
    because: 'the kernel counts the time of throttled threads as waiting on a run queue',
  },
  {
    by: ['pinned-to-same-core'],
    explains: ['waiting-for-cpu', 'more-work'],
    of: 'same rank',
    because: 'the processes wait for each other, while other processors may be free',
  },
  {
    by: ['waiting-in-collectives', 'waiting-in-point-to-point'],
    explains: ['much-time-in-mpi'],
    of: 'same rank',
    because: 'the time in MPI is the time in which the rank waited',
  },
  {
    by: [...SLOWDOWNS, 'more-work', 'waiting-in-collectives', 'waiting-in-point-to-point'],
    explains: ['mostly-idle'],
    of: 'any rank',
    because: 'a rank that is held up is idle, and so are the ranks that wait for it',
  },
]

/** The columns that the rules read or name for plots. */
export const RULE_NEEDS: readonly Need[] = RULES.flatMap(({ needs, alsoReads = [], plots }) => [
  ...needs.flat(),
  ...alsoReads,
  ...plots.map(({ column, ...place }) => ({ ...place, columns: [column] })),
])

/** The columns that the rules name for plots. */
export const RULE_PLOTS: readonly PlottedColumn[] = RULES.flatMap(({ plots }) => plots)

import type { RunMetric } from '../metric.ts'
import { CPU_PROFILE_METRIC, MORE_TIME_IN_FUNCTION } from './profile-rule.ts'

/** The functions that use processor time. */
export const CPU_PROFILE = {
  name: CPU_PROFILE_METRIC,
  rules: [MORE_TIME_IN_FUNCTION],
  makesStacks: true,
} as const satisfies RunMetric

import type { RunMetric } from '../metric.ts'
import { PYTHON_METRIC, PYTHON_STORE } from './current-stacks.ts'
import { MUCH_TIME_IN_DATA_LOADER } from './data-loader-rule.ts'
import { ALL_WAIT_FOR_ONE } from './late-pod-rule.ts'
import { PYTHON_STUCK } from './python-progress.ts'
import { WAITING_IN_PYTHON } from './python-rule.ts'

/** The functions of Python in which threads run and wait, and their current stacks. */
export const PYTHON_PROFILE = {
  name: PYTHON_METRIC,
  store: PYTHON_STORE,
  rules: [MUCH_TIME_IN_DATA_LOADER, ALL_WAIT_FOR_ONE, WAITING_IN_PYTHON],
  stuck: PYTHON_STUCK,
  shows: { area: 'Python', what: 'waiting in Python', library: 'python', isCommon: true },
  makesStacks: true,
} as const satisfies RunMetric

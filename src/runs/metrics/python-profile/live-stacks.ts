import { startTimepointRows, type TimepointRows } from '../../log/timepoint-rows.ts'
import type { CurrentStacks } from '../../waiting/current-stacks.ts'
import { addCurrentStack, PYTHON_METRIC, STACK_SECTIONS } from './current-stacks.ts'

/** The stacks of Python in a log of python-profile that grows. */
export interface LiveStacks extends TimepointRows {
  readonly stacks: () => CurrentStacks
}

/** The most processes, those that have ended included, before these are forgotten. */
const MAX_PROCESSES = 256

/** @param source identifies the pod */
export function startLiveStacks(source: string): LiveStacks {
  const stacks: CurrentStacks = new Map()
  const rows = startTimepointRows({
    source,
    metric: PYTHON_METRIC,
    reads: (section) => STACK_SECTIONS.has(section),
    add: (section, row) => {
      addCurrentStack(stacks, section, row)
      if (stacks.size > MAX_PROCESSES) forgetOld(stacks, row.seconds)
    },
    forget: () => stacks.clear(),
  })
  return { ...rows, stacks: () => stacks }
}

/** Forgets the processes that have ended, and those without a row in the last timepoint. */
function forgetOld(stacks: CurrentStacks, now: number): void {
  for (const [key, { hasEnded, seconds }] of stacks)
    if (hasEnded || seconds < now) stacks.delete(key)
}

import { startTimepointRows } from '../../log/timepoint-rows.ts'
import type { LiveStore } from '../../rules/stuck.ts'
import type { CurrentStacks } from '../../waiting/current-stacks.ts'
import { addCurrentStack, PYTHON_METRIC, STACK_SECTIONS } from './current-stacks.ts'

/** The most processes, those that have ended included, before these are forgotten. */
const MAX_PROCESSES = 256

/** @param source identifies the pod */
export function startLiveStacks(source: string): LiveStore<CurrentStacks> {
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
  return { ...rows, store: () => stacks }
}

/** Forgets the processes that have ended, and those without a row in the last timepoint. */
function forgetOld(stacks: CurrentStacks, now: number): void {
  for (const [key, { hasEnded, seconds }] of stacks)
    if (hasEnded || seconds < now) stacks.delete(key)
}

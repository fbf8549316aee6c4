import { maximum } from '../../../lib/statistics.ts'
import { type Affected, type FactUnits, listFacts } from '../../rules/rule.ts'
import { MIN_STARTING } from '../../rules/stuck.ts'
import type { AbsentProcess, StuckProcesses } from './stuck-processes.ts'

/** The seconds after which a process that sleeps, or waits for storage, and is quiet, is late. */
const MIN_ASLEEP = 10
/** The seconds after which any other process that does not come is named. */
const MIN_AWAY = 60
/** The times the longest gap between collective calls after which a computing process is named. */
const MIN_GAPS = 10

/** The facts about processes that make no progress. */
export const STUCK_FACTS = {
  'time in the call': 's',
  'processes that wait': 'count',
  'processes that have not come': 'count',
  'longest time between collective calls': 's',
} as const satisfies FactUnits

/**
 * Returns the processes that make no progress, if that counts, with the late processes that count.
 * `top` uses the same thresholds.
 */
export function countedIn(stuck: StuckProcesses): readonly StuckProcesses[] {
  const { why, waiting, longestGap } = stuck
  const longest = maximum(waiting.map(({ waited }) => waited)) ?? 0
  switch (why) {
    case 'deadlock':
    case 'mismatch':
      return [stuck]
    case 'unrecorded': {
      const isStart = waiting.every(({ thread }) => thread.number === 1)
      return longest >= patienceFor(longestGap, !isStart) ? [stuck] : []
    }
    case 'late': {
      const late = stuck.late.filter((one) => counts(one, longest, longestGap))
      return late.length === 0 ? [] : [{ ...stuck, late }]
    }
  }
}

/**
 * Returns the seconds after which a process is named that may still come.
 *
 * @param hasBegun whether it has begun a collective call
 */
function patienceFor(longestGap: number, hasBegun: boolean): number {
  return Math.max(hasBegun ? MIN_AWAY : MIN_STARTING, MIN_GAPS * longestGap)
}

function counts(
  { activity, away, quiet, hasBegun }: AbsentProcess,
  waited: number,
  longestGap: number,
): boolean {
  const both = Math.min(away, waited)
  // A process that reads or writes uses a processor now and then.
  const isAsleep = hasBegun && quiet >= MIN_ASLEEP
  const patience = patienceFor(longestGap, hasBegun)
  switch (activity.is) {
    case 'ended':
    case 'stopped':
      return true
    case 'sleeping':
    case 'storage':
      return both >= (isAsleep ? MIN_ASLEEP : patience)
    case 'computing':
    case 'waiting':
      return both >= patience
  }
}

/** Makes a finding of each pod with a process that waits or is late. */
export function affectedByCalls(stuck: StuckProcesses): readonly Affected[] {
  const { waiting, late, longestGap } = stuck
  const pods = new Set([...late, ...waiting].map(({ process }) => process.pod))
  const waitingIn = Map.groupBy(waiting, ({ process }) => process.pod)
  const lateIn = Map.groupBy(late, ({ process }) => process.pod)
  return [...pods].map((pod) => {
    const own = waitingIn.get(pod) ?? []
    const absent = lateIn.get(pod) ?? []
    const lost = maximum(own.map(({ waited }) => waited))
    return {
      pod,
      things: [...absent, ...own].map(({ process }) => `MPI rank ${process.rank}`),
      lost,
      facts: listFacts(STUCK_FACTS, {
        'time in the call': lost,
        'processes that wait': own.length,
        'processes that have not come': absent.length,
        'longest time between collective calls': longestGap > 0 ? longestGap : null,
      }),
    }
  })
}

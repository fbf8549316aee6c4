import { maximum } from '../../../lib/statistics.ts'
import { type Affected, type FactUnits, listFacts } from '../../rules/rule.ts'
import { MIN_STARTING } from '../../rules/stuck.ts'
import { waitsByPod } from '../../waiting/waits-by-pod.ts'
import type { AbsentProcess, StuckProcesses } from './stuck-processes.ts'

/** The seconds after which a process that sleeps, or waits for storage, and is quiet, is late. */
const MIN_ASLEEP = 10
/** The seconds after which any other process that does not come is named. */
const MIN_AWAY = 60
/** The times the longest gap or call before after which a process that computes or waits counts. */
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
  switch (stuck.why) {
    case 'deadlock':
    case 'mismatch':
    case 'roots':
      return [stuck]
    case 'stalled':
    case 'unrecorded':
      return waitedIn(stuck) >= patienceWith(stuck) ? [stuck] : []
    case 'late': {
      const { longestGap } = stuck
      const late = stuck.late.filter((one) => counts(one, waitedIn(stuck), longestGap))
      return late.length === 0 ? [] : [{ ...stuck, late }]
    }
  }
}

/** Returns the seconds for which processes wait, or for which all that are stalled do. */
function waitedIn({ waiting, stalled }: StuckProcesses): number {
  return stalled?.seconds ?? maximum(waiting.map(({ waited }) => waited)) ?? 0
}

/** Returns the seconds after which processes count for which no late process is known. */
function patienceWith({ why, waiting, longestGap, longestCall }: StuckProcesses): number {
  const isFirst = waiting.every(({ thread }) => thread.number === 1)
  if (why === 'unrecorded') return patienceFor(longestGap, !isFirst)
  // Libraries may write files in MPI_Finalize.
  const isLast = waiting.every(({ thread }) => thread.call === 'MPI_Finalize')
  return Math.max(patienceFor(longestGap, !isFirst && !isLast), MIN_GAPS * longestCall)
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
  const { longestGap } = stuck
  return waitsByPod(stuck, ({ process }) => process.pod).map(({ pod, waiting, late }) => {
    const lost = maximum(waiting.map(({ waited }) => waited))
    return {
      pod,
      things: [...late, ...waiting].map(({ process }) => `MPI rank ${process.rank}`),
      lost,
      facts: listFacts(STUCK_FACTS, {
        'time in the call': lost,
        'processes that wait': waiting.length,
        'processes that have not come': late.length,
        'longest time between collective calls': longestGap > 0 ? longestGap : null,
      }),
    }
  })
}

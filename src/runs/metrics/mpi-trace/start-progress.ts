import { maximum } from '../../../lib/statistics.ts'
import { type Affected, listFacts } from '../../rules/rule.ts'
import { MIN_STARTING } from '../../rules/stuck.ts'
import { waitsByPod } from '../../waiting/waits-by-pod.ts'
import { STUCK_FACTS } from './calls-progress.ts'
import { startingName } from './start-text.ts'
import type { AbsentMember, StuckStart } from './stuck-start.ts'

/**
 * Returns the processes that wait in MPI_Init, if that counts, with the late processes that count.
 * A process that loads its program and its input can take minutes.
 */
export function countedStart(stuck: StuckStart): readonly StuckStart[] {
  const longest = maximum(stuck.waiting.map(({ waited }) => waited)) ?? 0
  if (longest >= MIN_STARTING) return [stuck]
  const late = stuck.late.filter(neverComes)
  return late.length === 0 ? [] : [{ ...stuck, late }]
}

function neverComes({ activity }: AbsentMember): boolean {
  return activity.is === 'ended' || activity.is === 'stopped'
}

/** Makes a finding of each pod with a process that waits in MPI_Init, or is late. */
export function affectedByStart(stuck: StuckStart): readonly Affected[] {
  const all = { waiting: stuck.waiting, late: stuck.late.map(({ member }) => member) }
  return waitsByPod(all, (member) => member.pod).map(({ pod, waiting, late }) => {
    const lost = maximum(waiting.map(({ waited }) => waited))
    return {
      pod,
      things: [...late, ...waiting].map(startingName),
      lost,
      facts: listFacts(STUCK_FACTS, {
        'time in the call': lost,
        'processes that wait': waiting.length,
        'processes that have not come': late.length,
      }),
    }
  })
}

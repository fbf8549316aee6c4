import { maximum } from '../../../lib/statistics.ts'
import { type Affected, listFacts } from '../../rules/rule.ts'
import { MIN_STARTING } from '../../rules/stuck.ts'
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
export function affectedByStart({ waiting, late }: StuckStart): readonly Affected[] {
  const absent = late.map(({ member }) => member)
  const waitingIn = Map.groupBy(waiting, ({ pod }) => pod)
  const absentIn = Map.groupBy(absent, ({ pod }) => pod)
  return [...new Set([...absent, ...waiting].map(({ pod }) => pod))].map((pod) => {
    const [own, missing] = [waitingIn.get(pod) ?? [], absentIn.get(pod) ?? []]
    const lost = maximum(own.map(({ waited }) => waited))
    return {
      pod,
      things: [...missing, ...own].map(startingName),
      lost,
      facts: listFacts(STUCK_FACTS, {
        'time in the call': lost,
        'processes that wait': own.length,
        'processes that have not come': missing.length,
      }),
    }
  })
}

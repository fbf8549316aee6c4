import { maximum } from '../../lib/statistics.ts'
import { type RankUse, sumKnown } from './rank-use.ts'

/** What the ranks of one role used of what they requested. A value that is not known is null. */
export interface RoleCard {
  /** Empty if the workload has no roles. */
  readonly role: string
  readonly ranks: number
  /** The ranks whose use is known. The numbers below are about these. */
  readonly known: number
  /** Processors, summed over the ranks: in use on average, requested and allowed. */
  readonly cores: Compared
  /** Bytes: the peak of the rank with the highest one, and what this rank requested. */
  readonly memory: Compared & { readonly rank: string | null }
  /** Seconds, summed over the ranks and processors. */
  readonly throttled: number | null
  /** The part of the CPU periods in which the limit was used up, of the rank with the most. */
  readonly throttledPeriods: number | null
  /** Seconds, summed over threads, for which processes waited for a processor. */
  readonly runDelay: number | null
  /** Seconds, summed over ranks, in which all processes waited for storage. */
  readonly storage: number | null
  /** CPU seconds, summed over the ranks. */
  readonly cpu: number | null
}

export interface Compared {
  readonly used: number | null
  readonly requested: number | null
  readonly limit: number | null
}

/** Returns a card for each role, in the order in which the roles started. */
export function buildRoleCards(ranks: readonly RankUse[]): readonly RoleCard[] {
  return [...Map.groupBy(ranks, ({ role }) => role)].map(([role, own]) => buildCard(role, own))
}

function buildCard(role: string, ranks: readonly RankUse[]): RoleCard {
  const known = ranks.filter(({ containers }) => containers.length > 0)
  const shown = known.length > 0 ? known : ranks
  const sum = (read: (rank: RankUse) => number | null) => sumKnown(shown.map(read))
  return {
    role,
    ranks: ranks.length,
    known: known.length,
    cores: {
      used: sum(({ cores }) => cores),
      requested: sum(({ requests }) => requests.cpu),
      limit: sum(({ limits }) => limits.cpu),
    },
    memory: compareMemory(shown),
    throttled: sum(({ throttled }) => throttled),
    throttledPeriods: maximum(known.map(throttledPart)),
    runDelay: sum(({ runDelay }) => runDelay),
    storage: sum(({ storage }) => storage),
    cpu: sum(({ cpu }) => cpu),
  }
}

function compareMemory(ranks: readonly RankUse[]): RoleCard['memory'] {
  const most = maximum(ranks.map(({ memoryPeak }) => memoryPeak))
  const rank = ranks.find(({ memoryPeak }) => memoryPeak === most) ?? ranks[0]
  return {
    rank: most === null ? null : (rank?.name ?? null),
    used: most,
    requested: rank?.requests.memory ?? null,
    limit: rank?.limits.memory ?? null,
  }
}

/** Returns the part of the CPU periods, from 0 to 1, in which a container used up its limit. */
export function throttledPart({ containers }: Pick<RankUse, 'containers'>): number | null {
  return maximum(
    containers.map(({ use }) => {
      const [all, throttled] = [use?.periods ?? null, use?.throttledPeriods ?? null]
      if (all === null || throttled === null) return null
      return all === 0 ? 0 : Math.min(throttled / all, 1)
    }),
  )
}

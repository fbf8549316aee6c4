import { maximum } from '../../lib/statistics.ts'
import { type PodUse, sumKnown } from './pod-use.ts'

/** What the pods of one role used of what they requested. A value that is not known is null. */
export interface RoleCard {
  /** Empty if the workload has no roles. */
  readonly role: string
  readonly pods: number
  /** The pods whose use is known. The numbers below are about these. */
  readonly known: number
  /** Processors, summed over the pods: in use on average, requested and allowed. */
  readonly cores: Compared
  /** Bytes: the peak of the pod with the highest one, and what this pod requested. */
  readonly memory: Compared & { readonly podIndex: string | null }
  /** Seconds, summed over the pods and processors. */
  readonly throttled: number | null
  /** The part of the CPU periods in which the limit was used up, of the pod with the most. */
  readonly throttledPeriods: number | null
  /** Seconds, summed over threads, for which processes waited for a processor. */
  readonly runDelay: number | null
  /** Seconds, summed over pods, in which all processes waited for storage. */
  readonly storage: number | null
  /** CPU seconds, summed over the pods. */
  readonly cpu: number | null
}

export interface Compared {
  readonly used: number | null
  readonly requested: number | null
  readonly limit: number | null
}

/** Returns a card for each role, in the order in which the roles started. */
export function buildRoleCards(uses: readonly PodUse[]): readonly RoleCard[] {
  return [...Map.groupBy(uses, ({ role }) => role)].map(([role, own]) => buildCard(role, own))
}

function buildCard(role: string, uses: readonly PodUse[]): RoleCard {
  const known = uses.filter(({ containers }) => containers.length > 0)
  const shown = known.length > 0 ? known : uses
  const sum = (read: (use: PodUse) => number | null) => sumKnown(shown.map(read))
  return {
    role,
    pods: uses.length,
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

function compareMemory(uses: readonly PodUse[]): RoleCard['memory'] {
  const most = maximum(uses.map(({ memoryPeak }) => memoryPeak))
  const use = uses.find(({ memoryPeak }) => memoryPeak === most) ?? uses[0]
  return {
    podIndex: most === null ? null : (use?.name ?? null),
    used: most,
    requested: use?.requests.memory ?? null,
    limit: use?.limits.memory ?? null,
  }
}

/** Returns the part of the CPU periods, from 0 to 1, in which a container used up its limit. */
export function throttledPart({ containers }: Pick<PodUse, 'containers'>): number | null {
  return maximum(
    containers.map(({ use }) => {
      const [all, throttled] = [use?.periods ?? null, use?.throttledPeriods ?? null]
      if (all === null || throttled === null) return null
      return all === 0 ? 0 : Math.min(throttled / all, 1)
    }),
  )
}

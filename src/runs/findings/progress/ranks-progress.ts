import { causeOf, type LateRank, type StuckRanks } from '../../metrics/nccl-ras/stuck-ranks.ts'
import { MIN_STARTING } from './start-progress.ts'

/** The seconds without a change in the answers after which a late rank is named. */
export const MIN_UNCHANGED = 60
/** The times the longest time without a change before, after which it is named. */
const MIN_GAPS = 10

/**
 * Returns the ranks of NCCL that make no progress, if that counts, with the late ranks that count.
 * `top` uses the same thresholds.
 */
export function countedRanks(stuck: StuckRanks): readonly StuckRanks[] {
  const late = stuck.late.filter((rank) => counts(rank, stuck))
  return late.length === 0 ? [] : [{ ...stuck, late }]
}

function counts(rank: LateRank, stuck: StuckRanks): boolean {
  const patience = patienceFor(rank, stuck)
  const waited = stuck.waited ?? (rank.isMissing ? patience : 0)
  if (waited < patience) return false
  return !rank.isMissing || (isLongGone(rank) && isWaitedFor(rank, stuck))
}

function patienceFor({ isMissing, launched }: LateRank, { answer }: StuckRanks): number {
  const hasBegun = isMissing || (launched ?? 0) > 0
  return Math.max(hasBegun ? MIN_UNCHANGED : MIN_STARTING, MIN_GAPS * answer.longestGap)
}

function isLongGone({ unchanged }: LateRank): boolean {
  return (unchanged ?? 0) >= MIN_UNCHANGED
}

/**
 * Reports whether others still need a rank that does not answer. At the end of a job, processes end
 * one after another, so most ranks must still be there, or the process must run.
 */
function isWaitedFor({ activity }: LateRank, { communicator }: StuckRanks): boolean {
  const isRunning = activity !== null && activity.is !== 'ended'
  const { size, missing } = communicator
  return isRunning || (size !== null && missing * 2 < size)
}

/** The part of the ranks of NCCL that wait, or are late, in one pod. */
interface RanksOfPod {
  readonly pod: string
  /** The names of the ranks. */
  readonly things: readonly string[]
  /** The seconds for which a rank of the pod waits; null if none does, or if not known. */
  readonly lost: number | null
  /** The numbers of ranks. */
  readonly waiting: number
  readonly late: number
}

/** Returns the pods of the ranks that wait or are late, or if none is known, the one that asked. */
export function ranksOfPods({
  late,
  waiting,
  waited,
  askingPod,
}: StuckRanks): readonly RanksOfPod[] {
  const known = [...late, ...waiting].flatMap(({ pod }) => pod ?? [])
  const pods = new Set(known.length === 0 ? [askingPod] : known)
  return [...pods].map((pod) => {
    const absent = late.filter((one) => one.pod === pod)
    const own = waiting.filter((one) => one.pod === pod)
    return {
      pod,
      things: [...absent, ...own].map(({ rank }) => `NCCL rank ${rank}`),
      lost: own.length === 0 ? null : waited,
      waiting: own.length,
      late: absent.length,
    }
  })
}

/** Identifies the cause of a finding. */
export function causeOfRanks(stuck: StuckRanks): string {
  return `${causeOf(stuck)} ${stuck.communicator.name}`
}

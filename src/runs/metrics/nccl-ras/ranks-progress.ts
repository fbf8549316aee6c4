import { rounded } from '../../../lib/round.ts'
import type { SectionColumns } from '../../evidence/evidence.ts'
import { type PodEvidence, podsByName } from '../../evidence/run-evidence.ts'
import { type Affected, type FactUnits, listFacts } from '../../rules/rule.ts'
import { lastEnds, MIN_STARTING, type StuckFinder } from '../../rules/stuck.ts'
import { NCCL_METRIC, type NcclAnswer } from './nccl-run.ts'
import { describeRanks, describeRanksNow } from './ranks-text.ts'
import { type LateRank, ncclRanks, type StuckRanks } from './stuck-ranks.ts'

/** The seconds without a change in the answers after which a late rank is named. */
const MIN_UNCHANGED = 60
/** The times the longest time without a change before, after which it is named. */
const MIN_GAPS = 10

/**
 * Returns the ranks of NCCL that make no progress, if that counts, with the late ranks that count.
 */
function countedRanks(stuck: StuckRanks): readonly StuckRanks[] {
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

const FACTS = {
  'time without a launched operation': 's',
  'ranks of NCCL that wait': 'count',
  'ranks of NCCL that have not come': 'count',
  'longest time between collective calls': 's',
} as const satisfies FactUnits

/** Makes a finding of each pod with a rank that waits or is late, or of the pod that asked. */
function affectedBy(stuck: StuckRanks): readonly Affected[] {
  const { late, waiting, waited, askingPod, answer } = stuck
  const known = [...late, ...waiting].flatMap(({ pod }) => pod ?? [])
  const pods = new Set(known.length === 0 ? [askingPod] : known)
  const lateIn = Map.groupBy(late, (one) => one.pod)
  const waitingIn = Map.groupBy(waiting, (one) => one.pod)
  return [...pods].map((pod) => {
    const absent = lateIn.get(pod) ?? []
    const own = waitingIn.get(pod) ?? []
    return {
      pod,
      things: [...absent, ...own].map((one) => `NCCL rank ${one.rank}`),
      lost: own.length === 0 ? null : waited,
      facts: listFacts(FACTS, {
        'time without a launched operation': waited,
        'ranks of NCCL that wait': own.length,
        'ranks of NCCL that have not come': absent.length,
        'longest time between collective calls': answer.longestGap > 0 ? answer.longestGap : null,
      }),
    }
  })
}

/**
 * Reports whether the containers of the processes of the pod that has asked have ended without an
 * error after its last answer. The job then went on. Other containers, such as one that fetches
 * data, end earlier. If no process is known, all containers count.
 */
function hasSucceeded(
  { askingContainers }: StuckRanks,
  askingPod: PodEvidence | undefined,
): boolean {
  const ended = askingPod === undefined ? [] : lastEnds(askingPod)
  const ends = new Map(ended.map(({ container, exitCode }) => [container, exitCode]))
  const containers = askingContainers.length === 0 ? [...ends.keys()] : askingContainers
  return containers.length > 0 && containers.every((container) => ends.get(container) === 0)
}

function ranksDocument({ why, answer, communicator, late, waiting, waited }: StuckRanks) {
  const { name, size, ahead, operation, launched } = communicator
  return {
    why,
    communicator: { name, size, ahead, operation, launched },
    waiting: waiting.map(({ rank, pod }) => ({ podIndex: pod, ncclRank: rank })),
    late: late.map(lateRankDocument),
    unchangedSeconds: waited === null ? null : rounded(waited),
    unrecorded: null,
    longestGapSeconds: rounded(answer.longestGap),
  }
}

function lateRankDocument({ rank, pod, process, activity, line, ...facts }: LateRank) {
  const { host, pid, state, launched, behind, operation, unchanged } = facts
  return {
    podIndex: pod,
    ncclRank: rank,
    worldRank: process?.worldRank ?? null,
    program: process?.program ?? null,
    host,
    pid,
    state,
    activity: activity?.is ?? null,
    pythonLine: line,
    launched,
    behind,
    operation,
    seconds: unchanged === null ? null : rounded(unchanged),
  }
}

const PROCESS = {
  metric: NCCL_METRIC,
  section: 'process',
  columns: ['cpu_time'],
} as const satisfies SectionColumns

/**
 * Finds the ranks of NCCL that make no progress. Only the last answers count, so a job that goes on
 * has none. For the comparison, see `findStuckRanks`.
 */
export const NCCL_STUCK = {
  needs: [{ ...PROCESS, isTotal: true }],
  reads: [PROCESS],
  facts: FACTS,
  condition:
    'Ranks of NCCL wait if in the answers of NCCL nothing has changed for at least 60 s and ten ' +
    'times the longest such time before (5 min for a rank that has launched nothing), and a rank ' +
    'has launched fewer operations than another one, or its process does not answer',
  source: 'the ranks that do not answer: NCCL',
  live: { isRead: () => true, countsEnded: false },
  find: ({ view }) => {
    // All communicators of an answer are about the job of the pod that has asked.
    const succeeded = new Map<NcclAnswer, boolean>()
    const isOver = (stuck: StuckRanks) => {
      const { answer, askingPod } = stuck
      const known = succeeded.get(answer) ?? hasSucceeded(stuck, view(podsByName).get(askingPod))
      succeeded.set(answer, known)
      return known
    }
    return view(ncclRanks)
      .flatMap(countedRanks)
      .filter((stuck) => !isOver(stuck))
      .map((stuck) => ({
        pods: affectedBy(stuck),
        describe: () => describeRanks(stuck),
        describeNow: () => describeRanksNow(stuck),
        document: () => ranksDocument(stuck),
      }))
  },
} as const satisfies StuckFinder

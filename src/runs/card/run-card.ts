import { maximum, sumBy } from '../../lib/statistics.ts'
import { type AttemptGroup, groupAttempts, MAX_ATTEMPT_GROUPS } from '../attempts/attempt-groups.ts'
import { type Factor, missingFactor } from '../efficiency/factor.ts'
import { measuredByFactors } from '../efficiency/measured-time.ts'
import { processorFactors } from '../efficiency/processor-factors.ts'
import { isOver, type Run } from '../facts/run.ts'
import { stalledAtOnce } from '../findings/devices/pod-storage.ts'
import { listAttempts } from '../time/list-attempts.ts'
import type { TimeOfRun } from '../time/parts.ts'
import { divideTime, sumTime } from '../time/run-time.ts'
import { divideRunning } from '../time/running-time.ts'
import { findInTime } from '../time/time-findings.ts'
import { adviseRuns, type RoleAdvice } from './advice.ts'
import { aboutTime, type CardFinding, findInSummaries } from './card-findings.ts'
import { listPodUses, type PodUse, sumKnown } from './pod-use.ts'
import { buildRoleCards, type Compared, type RoleCard } from './role-card.ts'

/** What a run used of what it requested, from the summaries of its observers alone. */
export interface RunCard {
  readonly run: Run
  readonly podsSeen: number
  /** When its first container started, in milliseconds since 1970; null if none has. */
  readonly started: number | null
  /** When its last container ended; null if the run goes on, or its end is not known. */
  readonly ended: number | null
  /** The seconds since then until the end, or until now; null if it has not started. */
  readonly seconds: number | null
  /** Where its time went since the creation of its workload; null if that is not known. */
  readonly time: TimeOfRun | null
  /** At most `MAX_ATTEMPT_GROUPS`. */
  readonly attempts: readonly AttemptGroup[]
  /** The sum over all roles. */
  readonly cores: Compared
  /** The role whose pod used the largest part of its memory. */
  readonly memory: RoleCard['memory']
  readonly efficiency: Factor
  readonly roles: readonly RoleCard[]
  readonly findings: readonly CardFinding[]
  readonly advice: readonly RoleAdvice[]
  /** Why numbers are missing or are not whole: whole sentences, one for each pod. */
  readonly missing: readonly string[]
  /** The URL of the page of the report that an archive has written; null if none is known. */
  readonly page: string | null
}

/** Makes the card of a run. @param now the time in milliseconds since 1970 */
export function makeRunCard(run: Run, now: number): RunCard {
  const uses = listPodUses(run.pods)
  const roles = buildRoleCards(uses)
  const divided = divideTime(run, now)
  const { root, seconds } = measureEfficiency(uses)
  const started = least(run.pods.flatMap((pod) => pod.started ?? []))
  const ended = isOver(run.phase) ? maximum(run.pods.map((pod) => pod.ended)) : now
  return {
    run,
    podsSeen: run.pods.length,
    started,
    ended: isOver(run.phase) ? ended : null,
    seconds: started === null || ended === null ? null : Math.max(ended - started, 0) / 1000,
    time: divided && divideRunning(sumTime(divided), measuredByFactors(root, seconds)),
    attempts: groupAttempts(listAttempts(run), MAX_ATTEMPT_GROUPS),
    cores: {
      used: addKnown(roles, ({ cores }) => cores.used),
      requested: addKnown(roles, ({ cores }) => cores.requested),
      limit: addKnown(roles, ({ cores }) => cores.limit),
    },
    memory: findTightest(roles),
    efficiency: root,
    roles,
    findings: [
      ...findInSummaries(uses),
      ...(divided === null ? [] : findInTime(divided).map(aboutTime)),
    ],
    advice: adviseRuns([run]),
    missing: run.pods.flatMap((pod) => pod.missing),
    page: null,
  }
}

function least(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((low, value) => Math.min(low, value))
}

/** Adds the numbers of the roles whose use is known. */
function addKnown(
  roles: readonly RoleCard[],
  read: (role: RoleCard) => number | null,
): number | null {
  const known = roles.filter((role) => role.known > 0)
  return sumKnown((known.length > 0 ? known : roles).map(read))
}

function findTightest(roles: readonly RoleCard[]): RoleCard['memory'] {
  const part = ({ memory }: RoleCard) => (memory.used ?? -1) / (memory.requested || 1)
  const [first] = roles.toSorted((a, b) => part(b) - part(a))
  return first?.memory ?? { podIndex: null, used: null, requested: null, limit: null }
}

/** The time in which the pods ran, with the factors that summaries carry. */
interface PodsEfficiency {
  readonly root: Factor
  /** Seconds, added over the pods. */
  readonly seconds: number
}

function measureEfficiency(uses: readonly PodUse[]): PodsEfficiency {
  const known = uses.filter(({ containers }) => containers.length > 0)
  if (known.length === 0)
    return { root: missingFactor('efficiency', 'no summary has been read'), seconds: 0 }
  const times = known.map(({ name, containers, seconds, cpu, runDelay, storage, limits }) => {
    const atOnce = stalledAtOnce(containers.length)
    const stored = storage === null ? null : { seconds: storage, atOnce }
    const running = { ran: cpu, waited: runDelay, storage: stored }
    return { pod: name, elapsed: seconds ?? 0, ...running, limit: limits.cpu }
  })
  const seconds = sumBy(times, ({ elapsed }) => elapsed)
  // Summaries do not have the libraries of processes, so all of them may wait in MPI.
  return { root: processorFactors(times, true), seconds }
}

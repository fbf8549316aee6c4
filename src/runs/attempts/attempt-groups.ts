import { maximum, minimum, sumBy } from '../../lib/statistics.ts'
import type { ContainerEnd } from '../facts/container-runs.ts'

/** Unknown: the status of the pod does not have the attempt, or not its end. */
export const ATTEMPT_PHASES = ['Failed', 'Succeeded', 'Running', 'Unknown'] as const
export type AttemptPhase = (typeof ATTEMPT_PHASES)[number]

/**
 * Attempts of a run that are counted together. A value is null if it differs between them, or if
 * it is not known. Times are in milliseconds since 1970.
 */
export interface AttemptGroup extends ContainerEnd {
  /** 1 for the first attempt of a place in the workload. */
  readonly attempt: number | null
  /** The index of the pod, or its name if it has no index. */
  readonly podIndex: string | null
  readonly container: string | null
  readonly phase: AttemptPhase
  /** The number of attempts. */
  readonly count: number
  /** The earliest start. */
  readonly started: number | null
  /** The latest end; null if one of them is not known. */
  readonly ended: number | null
  /** The sum of the seconds from the start to the end; null if one of them is not known. */
  readonly seconds: number | null
}

/** Reports whether any container was started again, or may have been. */
export function hasRestarts(attempts: readonly Pick<AttemptGroup, 'attempt'>[]): boolean {
  return attempts.some(({ attempt }) => attempt !== 1)
}

type KeyOf = (group: AttemptGroup) => readonly unknown[]

const endOf: KeyOf = ({ phase, reason, exitCode, signal }) => [phase, reason, exitCode, signal]

/** Which attempts are counted together, the finest groups first. The last ones are few. */
const GROUPINGS: readonly KeyOf[] = [
  (group) => [group.attempt, group.container, ...endOf(group)],
  (group) => [group.container, ...endOf(group)],
  endOf,
  ({ phase }) => [phase],
]

/** The most groups of a run that are shown. It is at least the number of phases. */
export const MAX_ATTEMPT_GROUPS = 16

/**
 * Counts attempts together until they are few enough.
 *
 * @param limit the most groups, at least the number of phases
 */
export function groupAttempts(
  attempts: readonly AttemptGroup[],
  limit: number,
): readonly AttemptGroup[] {
  let groups = attempts
  for (const keyOf of GROUPINGS) {
    if (groups.length <= limit) break
    const byKey = Map.groupBy(groups, (group) => JSON.stringify(keyOf(group)))
    groups = [...byKey.values()].map(mergeGroups)
  }
  return groups.toSorted(compareGroups)
}

function mergeGroups(groups: readonly AttemptGroup[]): AttemptGroup {
  const [first] = groups as readonly [AttemptGroup]
  const same = <Key extends keyof AttemptGroup>(key: Key) =>
    groups.every((group) => group[key] === first[key]) ? first[key] : null
  return {
    attempt: same('attempt'),
    podIndex: same('podIndex'),
    container: same('container'),
    phase: first.phase,
    reason: same('reason'),
    exitCode: same('exitCode'),
    signal: same('signal'),
    count: sumBy(groups, ({ count }) => count),
    started: minimum(groups.map(({ started }) => started)),
    ended: groups.some(({ ended }) => ended === null)
      ? null
      : maximum(groups.map(({ ended }) => ended)),
    seconds: groups.some(({ seconds }) => seconds === null)
      ? null
      : sumBy(groups, ({ seconds }) => seconds ?? 0),
  }
}

/** The attempts whose number is not known, or differs, are the last ones. */
function compareGroups(a: AttemptGroup, b: AttemptGroup): number {
  return (
    (a.attempt ?? Number.MAX_VALUE) - (b.attempt ?? Number.MAX_VALUE) ||
    (a.podIndex ?? '').localeCompare(b.podIndex ?? '', 'en', { numeric: true }) ||
    b.count - a.count ||
    JSON.stringify(endOf(a)).localeCompare(JSON.stringify(endOf(b))) ||
    (a.container ?? '').localeCompare(b.container ?? '')
  )
}

import type { RunEvidence } from '../evidence/run-evidence.ts'
import {
  type DifferingPod,
  type FunctionDifference,
  findDifferences,
} from '../profiles/differences.ts'
import { perProcess } from '../profiles/profile-by-pod.ts'
import type { ProfileKind } from '../profiles/profile-run.ts'
import type { Affected, Fact } from './rule.ts'
import { MIN_SECONDS, percentOf } from './time-lost.ts'

/** The least additional time in a function, in percent of the time of the pod. */
const MIN_PART = 10

export const MEDIAN = 'median of the pods'

/** A function in which a pod spent more time than the median of the pods. */
export interface LongerFunction extends Pick<FunctionDifference, 'name' | 'median' | 'compared'> {
  /** The seconds in the function itself, and those above the median. */
  readonly self: number
  readonly more: number
  /** The additional time in percent of the median: 100 if the other pods spend none. */
  readonly percent: number
}

/**
 * Finds the pods that spent more time of a kind in a function than the median of the pods, with
 * the function that has the most additional time. For the comparison, see `findDifferences`. Of the
 * time in which main threads wait, the mean of the processes of a pod is compared.
 *
 * The samples do not show whether other pods waited for such a pod, so no time is known to be
 * lost.
 */
export function findLonger<Name extends string>(
  { profiles }: RunEvidence,
  kind: ProfileKind,
  factsOf: (longer: LongerFunction) => readonly Fact<Name>[],
): readonly Affected<Name>[] {
  const found = profiles
    .filter((profile) => profile.kind === kind)
    .map((profile) => (kind === 'waiting' ? perProcess(profile) : profile))
    .flatMap(findDifferences)
    .flatMap((difference) => difference.pods.filter(isLong).map((one) => ({ difference, one })))
    .sort((a, b) => a.one.more - b.one.more)
  // Of the functions of a pod, the last one has the most additional time.
  const worst = new Map(found.map((each) => [each.one.pod, each]))
  return [...worst.values()].map(({ difference: { name, median, compared }, one }) => {
    const { pod, self, more } = one
    const percent = median > 0 ? percentOf(more, median) : 100
    const facts = factsOf({ name, median, compared, self, more, percent })
    return { pod, things: [name], lost: null, size: more, cause: name, facts }
  })
}

function isLong({ more, whole }: DifferingPod): boolean {
  return more >= MIN_SECONDS && percentOf(more, whole) >= MIN_PART
}

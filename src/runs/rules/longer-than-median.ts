import type { RunEvidence } from '../evidence/run-evidence.ts'
import {
  type DifferingRank,
  type FunctionDifference,
  findDifferences,
} from '../profiles/differences.ts'
import type { ProfileKind } from '../profiles/profile-run.ts'
import { perProcess } from '../profiles/ranked-profile.ts'
import type { Affected, Fact } from './rule.ts'
import { MIN_SECONDS, percentOf } from './time-lost.ts'

/** The least additional time in a function, in percent of the time of the rank. */
const MIN_PART = 10

export const MEDIAN = 'median of the ranks'

/** A function in which a rank spent more time than the median of the ranks. */
export interface LongerFunction extends Pick<FunctionDifference, 'name' | 'median' | 'compared'> {
  /** The seconds in the function itself, and those above the median. */
  readonly self: number
  readonly more: number
  /** The additional time in percent of the median: 100 if the other ranks spend none. */
  readonly percent: number
}

/**
 * Finds the ranks that spent more time of a kind in a function than the median of the ranks, with
 * the function that has the most additional time. For the comparison, see `findDifferences`. Of the
 * time in which main threads wait, the mean of the processes of a rank is compared.
 *
 * The samples do not show whether other ranks waited for such a rank, so no time is known to be
 * lost.
 */
export function findLonger<Name extends string>(
  { profiles, ranks }: RunEvidence,
  kind: ProfileKind,
  factsOf: (longer: LongerFunction) => readonly Fact<Name>[],
): readonly Affected<Name>[] {
  const read = new Set(ranks.map(({ rank }) => rank))
  const found = profiles
    .filter((profile) => profile.kind === kind)
    .map((profile) => (kind === 'waiting' ? perProcess(profile) : profile))
    .flatMap(findDifferences)
    .flatMap((difference) => difference.ranks.filter(isLong).map((one) => ({ difference, one })))
    .filter(({ one }) => read.has(one.rank))
    .sort((a, b) => a.one.more - b.one.more)
  // Of the functions of a rank, the last one has the most additional time.
  const worst = new Map(found.map((each) => [each.one.rank, each]))
  return [...worst.values()].map(({ difference: { name, median, compared }, one }) => {
    const { rank, self, more } = one
    const percent = median > 0 ? percentOf(more, median) : 100
    const facts = factsOf({ name, median, compared, self, more, percent })
    return { rank, things: [name], lost: null, size: more, cause: name, facts }
  })
}

function isLong({ more, whole }: DifferingRank): boolean {
  return more >= MIN_SECONDS && percentOf(more, whole) >= MIN_PART
}

import type { RankEvidence, RunEvidence } from '../evidence/run-evidence.ts'
import type { Affected, FoundRanks, RankFinding } from './rule.ts'

/** Returns the function `find` of a rule that examines each rank by itself. */
export function perRank<FactName extends string>(
  find: (rank: RankEvidence) => readonly (RankFinding<FactName> | undefined)[],
): (run: RunEvidence, found: FoundRanks) => readonly Affected<FactName>[] {
  return ({ ranks }) =>
    ranks.flatMap((rank) => {
      const made = find(rank).filter((one) => one !== undefined)
      return made.length === 0 ? [] : [{ rank: rank.rank, ...worstOf(made) }]
    })
}

/**
 * Joins findings about processes by rank and cause. Ranks whose rows were not read are left out.
 *
 * @param found the findings; the `rank` of each is the pod of the process
 */
export function perProcess<FactName extends string>(
  found: readonly Affected<FactName>[],
  ranks: RunEvidence['ranks'],
): readonly Affected<FactName>[] {
  const read = new Set(ranks.map(({ rank }) => rank))
  const groups = Map.groupBy(found, ({ rank, cause }) => JSON.stringify([rank, cause]))
  return [...groups.values()].flatMap((own) => {
    const [{ rank }] = own as [Affected<FactName>]
    return read.has(rank) ? [{ ...worstOf(own), rank }] : []
  })
}

/**
 * Joins the findings about the things of one rank. The result has the numbers of the thing that
 * lost the most time. If the times are equal or unknown, the thing with the greatest number counts.
 * The result also names the other things.
 */
function worstOf<FactName extends string>(
  findings: readonly RankFinding<FactName>[],
): RankFinding<FactName> {
  const sorted = [...findings].sort(compareLoss)
  const [worst, ...others] = sorted as [RankFinding<FactName>]
  const also = others.flatMap(({ things }) => things).filter((one) => !worst.things.includes(one))
  return also.length === 0 ? worst : { ...worst, also: [...new Set(also)] }
}

/** Sorts by the time lost, and then by the number that is compared with the threshold. */
export function compareLoss(
  a: Pick<Affected, 'lost' | 'facts'>,
  b: Pick<Affected, 'lost' | 'facts'>,
): number {
  return (b.lost ?? -1) - (a.lost ?? -1) || (b.facts[0]?.value ?? 0) - (a.facts[0]?.value ?? 0)
}
